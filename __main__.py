"""``python -m pathtrace``."""

from pathtrace.cli import main

if __name__ == "__main__":
    main()
