"""Games between players: openings, pairs of games, matches, and a person at the terminal."""
