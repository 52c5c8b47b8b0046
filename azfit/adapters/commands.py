"""The commands that hand fadefour's networks to other tools, as a user types them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from azfit.loading import need_torch, network_path
from solver.command_options import NamedPath, json_option, show
from solver.storage import check_writable, write_atomically


@click.command("export-onnx", short_help="Write a network as an ONNX model.")
@click.argument("network")
@click.option(
    "--out",
    type=NamedPath(dir_okay=False),
    help="File to write.  [default: the network's name with .onnx, in the current folder]",
)
@json_option
def export_onnx_command(network: str, out: Path | None, as_json: bool) -> None:
    """Write a network as a self-contained ONNX model, to be run without torch.

    NETWORK is a checkpoint, a run (its best network) or 'shipped'. Planes go in; the policy,
    win/draw/loss and the expected plies come out, for any batch size. The file's metadata has the
    game, its rules and the order of the planes. The model is compared with torch in ONNX Runtime;
    if they disagree, nothing is written and the exit code is 1.

    \b
    Examples:
      fadefour export-onnx shipped
      fadefour export-onnx runs/four --out four.onnx
    """
    need_torch()
    from azfit.adapters.onnx_export import onnx_model_of

    path = out or Path(f"{network_path(network).name}.onnx")
    check_writable(path)
    model = onnx_model_of(network)
    if not model.agreement.ok:
        show(as_json, model.to_dict(), f"ONNX Runtime and torch DISAGREE, nothing written: {model}")
        sys.exit(1)
    write_atomically(path, model.content)
    show(as_json, {**model.to_dict(), "file": str(path)}, f"wrote {path} ({model})")


COMMANDS = [export_onnx_command]
