"""The names that agents give to the fields of a call's input, by what such a field holds.

Names are compared without case and separators: `file_path`, `filePath` and `FilePath` are one. `accord.session.claims`
reads the fields.
"""

from __future__ import annotations

import re


def _names(*lines: str) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())


COMMAND_KEYS = _names(
    "command commands cmd cmds commandline cmdline commandstring commandtext shell shellcommand shellline shellscript",
    "bash bashcommand terminalcommand script argv exec execute executable program binary run powershell",
)
DIRECTORY_KEYS = _names("cwd workdir workingdirectory workingdir directory dir currentdirectory")
ENVIRONMENT_KEYS = _names("env environment envvars environmentvariables")
ARGUMENT_KEYS = _names("args arguments parameters")
STANDARD_INPUT_KEYS = _names("stdin input heredoc")
# A text under these keys is a shell line, independent of the keys beside it.
LINE_KEYS = _names("line script shell shellscript shellline")
PATH_KEYS = _names(
    "path paths file files filepath filepaths filename filenames abspath absolutepath relativepath folder folderpath",
    "relativeworkspacepath targetfile targetpath notebook notebookpath oldpath newpath source sourcepath destination",
    "destinationpath uri uris outputfile outputpath outfile",
)
# These mean files where the call is about files, and anything elsewhere: a recipient, a date.
FILE_KEYS = DIRECTORY_KEYS | _names("target src from to dest dst output name newname oldname newuri olduri root")
DESTINATION_KEYS = _names("destination destinationpath newpath newname newuri to dest dst target targetpath outputpath")
# Texts that a call brings along. A string anywhere else that looks like a path counts as one.
TEXT_KEYS = _names(
    "content contents text oldstring newstring oldstr newstr oldtext newtext old new replacement replace insert code",
    "pattern regex query search description explanation reason prompt message instructions title patch diff input",
    "stdin",
)
# A text under these keys is written to the file that is named beside it.
WRITTEN_KEYS = _names(
    "content contents filecontent filecontents filetext text code codeedit body data newcontent newstring newstr",
    "newtext newsource newlines new oldstring oldstr oldtext replacement replace insert inserttext insertline append",
    "patch diff edits",
)
# Where the call looks for something, or asks for it, these are what it asks.
ASKING_KINDS = _names("search fetch think")
ASKED_KEYS = _names("content contents text code body data new replace insert")
PATCH_KEYS = _names("patch diff input")
NO_PATHS = TEXT_KEYS | COMMAND_KEYS | ENVIRONMENT_KEYS | ARGUMENT_KEYS

PATH_BEGINS = ("/", "./", "../", "~/", "file:")
# The beginnings of lines in a patch, whatever its field is called.
PATCH_LINE = re.compile(r"^(?:diff --|\+\+\+ |\*\*\* (?:Add|Update|Delete) File: )", re.MULTILINE)
ADDRESS = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s_-]")


def field_name(key: object) -> str:
    """A key of an input without case and separators, as the tables of names have it."""
    return _SEPARATORS.sub("", str(key)).lower()
