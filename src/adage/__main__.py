"""`python -m adage` is the command `adage`."""

from adage.cli import main

if __name__ == "__main__":
    main()
