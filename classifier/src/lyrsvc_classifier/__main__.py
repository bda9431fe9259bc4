"""``python -m lyrsvc_classifier``."""

import sys

from lyrsvc_classifier.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
