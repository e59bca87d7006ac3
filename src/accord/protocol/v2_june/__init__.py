"""Protocol version 2 as drafted in June 2026: every type and method, by topic."""

from accord.protocol.v2_june.config import *
from accord.protocol.v2_june.connection import *
from accord.protocol.v2_june.content import *
from accord.protocol.v2_june.methods import *
from accord.protocol.v2_june.session import *
from accord.protocol.v2_june.tools import *
from accord.protocol.v2_june.updates import *
