"""Torture: commands are killed, their files damaged, their disk filled, their calls made to fail.

``make torture`` runs the campaigns, one module each, and prints what was tried and how it ended;
docs/reliability.md says what is promised and has the figures of a whole campaign.
"""
