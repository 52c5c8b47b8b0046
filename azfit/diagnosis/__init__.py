"""What may be wrong with a run or a network, by side: figures, then plain sentences."""
