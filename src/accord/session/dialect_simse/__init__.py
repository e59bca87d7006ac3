"""How simse's page says ACP, in our reading of it: a translation between that and v1, one message after the other.

Messages are plain JSON objects in and out. It knows neither v1's types nor who sends, receives or runs anything.
"""

from accord.session.dialect_simse.tool import TOOL_METHOD
from accord.session.dialect_simse.translator import Steps, Translator

__all__ = ["TOOL_METHOD", "Steps", "Translator"]
