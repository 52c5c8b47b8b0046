"""The network that comes with fadefour, with its description, its grade and its certificate."""
