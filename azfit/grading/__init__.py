"""How right a player is, by the exact table or solver: grades, and proofs that it cannot lose."""
