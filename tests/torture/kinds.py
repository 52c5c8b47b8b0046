"""The kinds of files that commands read, and those commands.

Every command here prints the same each time it is run on the same files, apart from times, so that
a value that was misread shows.
"""

from __future__ import annotations

from dataclasses import replace

from command_line import VARIANT33

from solver.connect4.book import SHIPPED, positions_of
from torture.readers import APPENDED, TEXT, Kind, Reader

VARIANT43 = ("--n", "4", "--m", "3", "--k", "3")
SETS = "connect4.txt"

SMALL = (*VARIANT33, "--data", "data", "--json")
MIDDLE = (*VARIANT43, "--data", "middle", "--json")
ONE = ("--threads", "1", "--json")
STATS, SUMMARY, VERIFY = (Reader((name, *SMALL)) for name in ("stats", "summary", "verify"))
PROBE = Reader(("probe", "a1b2/c3 y", *SMALL))
DEFENSE = Reader(("verify-defense", *SMALL, "--positions", "3", "--threads", "1"))
EXPORT = Reader(("export", *SMALL, "--out", "out"), ("out",))
MERGE = Reader(("merge", *SMALL), ("data/game_tree",))
GRADE = Reader(("grade", "net.safetensors", "--data", "data", "--sample", "500", *ONE))
CERTIFY = Reader(
    ("certify", "net.safetensors", "--data", "data", "--out", "new.npz", *ONE),
    ("new.npz", "x_new.npz", "y_new.npz"),
    reports_first=True,
)
CONVERT = replace(CERTIFY, command=(*CERTIFY.command, "--convert"))
MATCH = Reader(("match", "net.safetensors", "random", "--games", "2", "--sims", "4", "--json"))
PLAY = Reader(("play", "--against", "net.safetensors", *VARIANT33, "--data", "data"))
DIAGNOSE = Reader(("diagnose", "net.safetensors", "--data", "data", "--sims", "8", "--json"))
SETTING = Reader(("self-play", "--run", "new", "--config", "options.toml", "--json"), ("new",))
FROM_INIT = Reader(
    (
        "self-play",
        "--run",
        "new",
        "--init",
        "net.safetensors",
        "--config",
        "options.toml",
        "--json",
    ),
    ("new",),
)
TRAIN = Reader(
    ("train-from-oracle", "--run", "trained", "--resume", "--data", "data", "--json"),
    ("trained/best", "trained/resume", "trained/checkpoints", "trained/metrics"),
)
SELF_PLAY = Reader(("self-play", "--run", "played", "--resume", "--json"), ("played",))
DIAGNOSE_RUN = Reader(("diagnose", "played", "--data", "data", "--json"), only_looks=True)
INSPECT = Reader(("inspect-buffer", "played", "--data", "data", "--json"), only_looks=True)
PLOT_PLAYED, PLOT_TRAINED = (
    Reader(("plot", run, "--json"), is_slow=True) for run in ("played", "trained")
)
VERIFY_MIDDLE, STATS_MIDDLE = (Reader((name, *MIDDLE)) for name in ("verify", "stats"))
MERGE_MIDDLE = Reader(("merge", *MIDDLE, "--complete"), ("middle/game_tree",))
TREE = "middle/game_tree_4x4_m3_k3.data"
PROBE_TREE = Reader(("probe", "a1b2/c3 y", "--table", TREE, "--json"))
DEFENSE_TREE = Reader(("verify-defense", "--table", TREE, "--positions", "1", *ONE), is_slow=True)
SOLVE = Reader(
    ("solve", *VARIANT43, "--data", "solving", "--json"), ("solving/solved", "solving/xwin")
)
CHECK_LIST, CHECK_NODES, CHECK_LINE = (
    Reader(("certify", "--check", name, "--json")) for name in ("list.npz", "nodes.npz", "line.npz")
)
COMPACT = ("certify", "perfect", "--as", "x", "--compact", "--out", "compact.npz", *ONE)
CHECK_COMPACT = Reader(("certify", "perfect", "--check", "compact.npz", *ONE))
GRADE_FOUR = Reader(
    ("grade", "four.safetensors", "--sets", SETS, "--data", "labels", *ONE), ("labels",)
)
VERIFY_SET = Reader(("verify", "--game", "connect4", SETS, *ONE))
RESULTS, RESULTS43 = ((*v, "--data", "results", "--json") for v in (VARIANT33, VARIANT43))
STATS_RESULTS, SUMMARY_RESULTS, VERIFY_RESULTS = (
    Reader((name, *RESULTS)) for name in ("stats", "summary", "verify")
)
PROBE_RESULTS = Reader(("probe", "a1b2/c3 y", *RESULTS))
EXPORT_RESULTS = Reader(("export", *RESULTS, "--out", "out"), ("out",))
GRADE_RESULTS = Reader(("grade", "net.safetensors", "--data", "results", "--sample", "500", *ONE))
STATS_RESULTS43, VERIFY_RESULTS43 = (Reader((name, *RESULTS43)) for name in ("stats", "verify"))
SOLVE_RESULTS = Reader(
    ("solve", *VARIANT43, "--results-only", "--data", "solving_results", "--json"),
    ("solving_results/results",),
)
SHOW_BOOK = Reader(("book", "--data", "books", "--json"))
CHECK_BOOK = Reader(("book", "--verify", "--sample", "0", "--data", "books", *ONE))
PROBE_BOOK = Reader(("probe", "--game", "connect4", "4", "--data", "books", *ONE))
MAKE_BOOK = Reader(("book", "--plies", "2", "--data", "books", *ONE), ("books",))
TRAIN_FOUR = Reader(
    ("train-from-oracle", "--run", "taught", "--resume", "--data", "positions", "--json"),
    ("taught/best", "taught/resume", "taught/checkpoints", "taught/metrics"),
)
BOOKS_POSITIONS = sum(len(positions_of(ply).keys) for ply in range(SHIPPED.contents.plies))
"""That the opening book labels, and that are not held out."""
TEACH = (
    *("train-from-oracle", "--game", "connect4", "--run", "taught", "--data", "positions"),
    *(
        "--positions",
        str(BOOKS_POSITIONS + 60),
        "--steps",
        "4",
        "--kind",
        "mlp",
        "--width",
        "16",
        "--blocks",
        "1",
    ),
    *("--batch", "32", "--held-out", "0.1", "--mine-rounds", "0", "--preset", "quick"),
    *("--workers", "1", "--threads", "1", "--json"),
)
SERVE = Reader(("serve", "--port", "0", "--data", "answers", "--runs", "none"))
MATCH_SHIPPED = Reader(
    ("match", "shipped.safetensors", "random", "--games", "2", "--sims", "2", "--json")
)


def _with_manifest(name: str, file: str, readers: tuple[Reader, ...]) -> tuple[Kind, Kind]:
    return Kind(name, file, readers), Kind(f"manifest of {name}", f"{file}.json", readers)


TABLE_READERS = (
    *(PROBE, STATS, SUMMARY, VERIFY, DEFENSE, EXPORT, GRADE, CERTIFY, CONVERT, TRAIN),
    *(PLAY, DIAGNOSE, INSPECT),
)
RUN_READERS = (SELF_PLAY, DIAGNOSE_RUN, INSPECT, PLOT_PLAYED)
NETWORK_READERS = (GRADE, CERTIFY, MATCH, PLAY, DIAGNOSE, FROM_INIT)

RESULTS_READERS = (
    *(PROBE_RESULTS, STATS_RESULTS, SUMMARY_RESULTS, VERIFY_RESULTS),
    *(EXPORT_RESULTS, GRADE_RESULTS),
)
RESULTS43_READERS = (STATS_RESULTS43, VERIFY_RESULTS43)
RESULTS_CHECKPOINT = "solving_results/solving_results_4x4_m3_k3.checkpoint"
BOOK_FILE = "books/connect4.book"
FOUR_POSITIONS = "positions/connect4_positions/positions-000000.npz"

KINDS: tuple[Kind, ...] = (
    *_with_manifest("dense table", "data/solved_3x3_m3.table", TABLE_READERS),
    *_with_manifest("larger table", "middle/solved_4x4_m3_k3.table", (VERIFY_MIDDLE, STATS_MIDDLE)),
    *_with_manifest("X wins", "middle/xwin_4x4_m3_k3.data", (MERGE_MIDDLE, VERIFY_MIDDLE)),
    *_with_manifest("Y wins", "middle/ywin_4x4_m3_k3.data", (MERGE_MIDDLE, VERIFY_MIDDLE)),
    *_with_manifest("small X wins", "data/xwin_3x3_m3.data", (MERGE, VERIFY)),
    *_with_manifest("game tree", TREE, (PROBE_TREE, DEFENSE_TREE, VERIFY_MIDDLE)),
    *_with_manifest("solve checkpoint", "solving/solving_4x4_m3_k3.checkpoint", (SOLVE,)),
    *_with_manifest("results", "results/results_3x3_m3.bits", RESULTS_READERS),
    *_with_manifest("larger results", "results/results_4x4_m3_k3.bits", RESULTS43_READERS),
    *_with_manifest("checkpoint of a solve for results", RESULTS_CHECKPOINT, (SOLVE_RESULTS,)),
    Kind("network", "net.safetensors", NETWORK_READERS),
    Kind("shipped network", "shipped.safetensors", (MATCH_SHIPPED,)),
    Kind("certificate, boards", "list.npz", (CHECK_LIST,)),
    Kind("certificate, nodes", "nodes.npz", (CHECK_NODES,)),
    Kind("certificate, a line", "line.npz", (CHECK_LINE,)),
    Kind("compact certificate", "compact.npz", (CHECK_COMPACT,)),
    Kind("Connect Four labels", "labels/connect4_labels.npz", (GRADE_FOUR,)),
    Kind("Connect Four positions", FOUR_POSITIONS, (TRAIN_FOUR,)),
    Kind("Connect Four book", BOOK_FILE, (SHOW_BOOK, CHECK_BOOK, PROBE_BOOK, MAKE_BOOK)),
    Kind("Connect Four answers", "answers/connect4_answers.sqlite", (SERVE,)),
    Kind("state of training", "trained/resume.safetensors", (TRAIN,)),
    Kind("first network of training", "trained/init.safetensors", (TRAIN,)),
    Kind("best network of training", "perfect/best.safetensors", (CHECK_COMPACT,)),
    Kind("best network so far", "trained/best.safetensors", (TRAIN,)),
    Kind("state of self-play", "played/resume.safetensors", (SELF_PLAY,)),
    Kind("first network of self-play", "played/init.safetensors", (SELF_PLAY,)),
    Kind("network in the pool", "played/checkpoints/step-000000000.safetensors", (SELF_PLAY,)),
    Kind("best network of self-play", "played/best.safetensors", (SELF_PLAY, DIAGNOSE_RUN)),
    Kind("games", "played/games/000000.games", (SELF_PLAY, DIAGNOSE_RUN, INSPECT), APPENDED),
    Kind("latest games", "played/games/000001.games", (SELF_PLAY, INSPECT), APPENDED),
    Kind("metrics of self-play", "played/metrics.jsonl", RUN_READERS, TEXT),
    Kind("metrics of training", "trained/metrics.jsonl", (TRAIN, PLOT_TRAINED), TEXT),
    Kind("config of self-play", "played/config.json", RUN_READERS, TEXT),
    Kind("config of training", "trained/config.json", (TRAIN, PLOT_TRAINED), TEXT),
    Kind("options in TOML", "options.toml", (SETTING,), TEXT),
    Kind("set of positions", SETS, (VERIFY_SET, GRADE_FOUR), TEXT),
)
