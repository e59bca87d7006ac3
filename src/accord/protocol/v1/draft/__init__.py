"""Unstable extras of version 1: new types, and stable ones that have grown new fields."""

from accord.protocol.v1.draft.connection import *
from accord.protocol.v1.draft.methods import *
from accord.protocol.v1.draft.session import *
