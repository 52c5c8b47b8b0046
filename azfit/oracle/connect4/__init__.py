"""Connect Four taught by its solver: positions, their exact labels on disk, and the teacher."""
