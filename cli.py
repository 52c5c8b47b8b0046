"""``python cli.py COMMAND``: the command ``fadefour`` of this checkout, without installing it."""

from azfit.main import main

if __name__ == "__main__":
    main()
