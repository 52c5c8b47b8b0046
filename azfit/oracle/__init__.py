"""Learning from the exact table: what is drawn from it, the loop, and what a run reports."""
