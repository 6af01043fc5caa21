"""`python -m hearth` is `hearth`."""

from hearth.cli import main

if __name__ == "__main__":
    main()
