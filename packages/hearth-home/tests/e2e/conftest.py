"""A learnt home for each story; see tests/story.py."""

from tests.story import hearth as hearth
from tests.story import home as home
