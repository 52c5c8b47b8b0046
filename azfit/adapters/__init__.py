"""fadefour's games, players and networks in the tools of others: OpenSpiel, PettingZoo, ONNX."""
