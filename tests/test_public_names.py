"""What ``import azfit`` and ``import solver`` offer."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import azfit
import solver


@pytest.mark.parametrize("package", [azfit, solver], ids=lambda package: package.__name__)
def test_the_public_names_are_those_that_the_package_imports(package):
    tree = ast.parse(Path(package.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module.startswith(f"{package.__name__}.")]
    ours = [node for node in ours if node.module != "solver.lazy_names"]
    homes = {name.name: node.module for node in ours for name in node.names}
    assert sorted(homes) == sorted(package.__all__)
    for name, home in homes.items():
        assert getattr(package, name) is getattr(sys.modules[home], name)
    with pytest.raises(AttributeError, match="no attribute 'Chess'"):
        package.Chess  # noqa: B018


def test_the_command_line_is_there_before_anything_that_takes_time():
    code = "import sys, azfit.main; print('solver.kernels' in sys.modules, 'numpy' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False False\n"
