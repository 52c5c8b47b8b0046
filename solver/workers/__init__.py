"""Workers: who does which item of a task, where, and what happens when one of them dies.

``worker`` says what a worker is, ``pool`` deals items out and receives one answer for each,
``processes`` runs workers on this machine and ``solver.cluster`` on many; who asks a pool does not
know which.
"""
