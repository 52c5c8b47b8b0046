"""Coverage-guided fuzzing of everything that reads untrusted bytes: ``make fuzz``.

A target takes any bytes and does with them what the product does with a user's. Either they are
accepted, and then keep what the reader promises (compared with a plain twin where there is one),
or they are refused by a FadefourError in one line. Anything else is a finding: a crash, another
exception, a warning, a hang, more memory than the job needs.

``targets.py`` lists the targets; each has a file of its own, here or in ``c``. ``run.py`` fuzzes
them. ``corpus`` has the inputs that together reach all that was ever reached, one Python bytes
literal per line; ``tests/test_fuzz_corpus.py`` replays them without any fuzzer.
"""
