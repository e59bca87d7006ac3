"""Unstable extras of version 2: new types, and stable ones that have grown new fields."""

from accord.protocol.v2.draft.connection import *
from accord.protocol.v2.draft.methods import *
from accord.protocol.v2.draft.session import *
