"""Protocol version 2 as drafted in November 2026: every type and method, by topic."""

from accord.protocol.v2.config import *
from accord.protocol.v2.connection import *
from accord.protocol.v2.content import *
from accord.protocol.v2.elicitation import *
from accord.protocol.v2.methods import *
from accord.protocol.v2.session import *
from accord.protocol.v2.tools import *
from accord.protocol.v2.updates import *
