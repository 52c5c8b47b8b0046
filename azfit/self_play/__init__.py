"""Learning from games against itself: playing, replay, training, matches, the gate."""
