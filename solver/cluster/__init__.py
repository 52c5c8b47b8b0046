"""Many machines, through Ray: the only room that imports it, and only where ``--cluster`` is given.

``connection`` finds the cluster and compares versions, ``actors`` is a place for the workers of a
pool (``solver.workers``).
"""
