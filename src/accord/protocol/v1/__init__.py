"""Protocol version 1, the stable one: every type and method, by topic in the modules of this package."""

from accord.protocol.v1.config import *
from accord.protocol.v1.connection import *
from accord.protocol.v1.content import *
from accord.protocol.v1.elicitation import *
from accord.protocol.v1.methods import *
from accord.protocol.v1.session import *
from accord.protocol.v1.tools import *
from accord.protocol.v1.updates import *
