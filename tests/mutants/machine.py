"""Mutants of what is done on the user's machine: processes, folders and file formats, and checks, which restore."""

from tests.mutants.mutant import Mutant

CHILD = "tests/transport/test_child.py::"
KILLS = "tests/agent/test_kills.py::"
FOLDER = "tests/cli/test_foreign_folder.py::"

MUTANTS = (
    # --- processes
    Mutant(
        "processes",
        "the watchdog looks twice and leaves",
        "transport/watchdog.py",
        "SWEEP_SECONDS, _BIRTH_SECONDS)",
        "SWEEP_SECONDS)",
        "tests/transport/test_watchdog.py::test_a_process_that_is_born_while_its_host_dies_is_found",
    ),
    Mutant(
        "processes",
        "a stubborn program is not killed",
        "transport/process.py",
        '        self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)',
        "        self._signal(signal.SIGTERM)",
        CHILD + "test_a_stubborn_program_is_killed_also_where_descendants_cannot_be_found",
    ),
    Mutant(
        "processes",
        "descendants that left the group survive",
        "transport/watchdog.py",
        "    found = find_marked(marker)\n",
        "    found: list[int] = []\n",
        CHILD + "test_descendants_are_gone_with_the_program",
    ),
    Mutant(
        "processes",
        "stderr is not drained",
        "transport/child.py",
        "        self._stderr.resume()\n",
        "",
        CHILD + "test_a_flood_of_stderr_blocks_nobody_and_only_its_end_is_kept",
    ),
    Mutant(
        "processes",
        "the watchdog looks away when its host is killed",
        "transport/watchdog.py",
        "    _end_all(left)\n",
        "",
        "tests/transport/test_watchdog.py::test_nothing_outlives_a_host_that_is_killed",
    ),
    Mutant(
        "processes",
        "a stray print goes into the protocol",
        "transport/stdio.py",
        "            os.dup2(_STDERR, _STDOUT)\n",
        "            pass\n",
        "tests/transport/test_stdio.py::test_stray_output_goes_to_stderr_and_nobody_else_eats_the_input",
    ),
    Mutant(
        "processes",
        "the watchdog hears of a command when it runs",
        "workspace/launch.py",
        "    lineage.adopt(marker, 0)\n",
        "",
        KILLS + "test_a_command_is_gone_also_where_the_kill_comes_right_behind_its_start",
    ),
    # --- the current directory
    Mutant(
        "folders",
        "our interpreter imports from the current directory first",
        "transport/interpreter.py",
        '_MODULE, _FILE = ("-P", "-m")',
        '_MODULE, _FILE = ("-m",)',
        FOLDER + "test_nothing_of_the_folder_runs_with_any_verb[variables]",
    ),
    Mutant(
        "folders",
        "relative folders of PYTHONPATH are passed to our interpreter",
        "transport/interpreter.py",
        '        changed.update({name: _absolute(given.get(name, "")) for name in _FOLDERS})\n',
        "",
        FOLDER + "test_nothing_of_the_folder_runs_with_any_verb[variables]",
    ),
    Mutant(
        "folders",
        "a project's file sets variables of Python for our interpreter",
        "transport/interpreter.py",
        '        changed.update({name: given.get(name) for name in changes if name.upper().startswith("PYTHON")})\n',
        "",
        "tests/transport/test_interpreter.py::test_of_the_changes_no_variable_of_python_is_passed_on",
    ),
    Mutant(
        "folders",
        "a recorded program is started with every variable",
        "trace/tap.py",
        "lineage.mark(environment_of(argv, os.environ, {}))",
        "lineage.mark(os.environ)",
        FOLDER + "test_nothing_of_the_folder_runs_with_any_verb[variables]",
    ),
    Mutant(
        "folders",
        "a module that is named on the line hides what is installed",
        "adapters/import_string.py",
        "                sys.path.append(each)\n",
        "                sys.path.insert(0, each)\n",
        FOLDER + "test_a_module_that_is_served_is_searched_behind_all_that_is_installed",
    ),
    # --- environment
    Mutant(
        "environment",
        "an ended command is reaped although its group lives",
        "transport/process.py",
        "            if process.pid not in groups:\n",
        "            if process.pid:\n",
        "tests/client/test_ended_terminals.py::"
        "test_a_descendant_without_our_marker_dies_with_the_group_of_an_ended_command",
    ),
    Mutant(
        "environment",
        "ended commands stay zombies",
        "transport/process.py",
        "            reap_when_alone(self)\n",
        "",
        "tests/client/test_ended_terminals.py::test_the_ended_commands_of_terminals_that_nobody_releases_are_reaped",
    ),
    Mutant(
        "environment",
        "a relative home is taken as it is",
        "config/paths.py",
        "        if not all(each.is_absolute() for each in found):\n",
        "        if not found:\n",
        "tests/config/test_paths.py::test_there_are_no_folders_without_a_home",
    ),
    Mutant(
        "environment",
        "the umask decides who may enter a folder",
        "stores/folder.py",
        "                each.chmod(0o700)\n",
        "                each.chmod(0o755)\n",
        "tests/stores/test_folder.py::test_what_is_made_is_private_whatever_the_umask_is",
    ),
    # --- formats
    Mutant(
        "formats",
        "a later version of the records is opened",
        "config/records.py",
        "    if version > SCHEMA_VERSION:\n",
        "    if version > SCHEMA_VERSION + 1000:\n",
        "tests/config/test_records.py::test_a_later_versions_file_is_refused",
    ),
    Mutant(
        "formats",
        "two processes upgrade the records twice",
        "config/records.py",
        "    version = _version(connection, place)\n    if version == 0:\n        statements",
        "    version = 1 if _version(connection, place) else 0\n    if version == 0:\n        statements",
        "tests/config/test_records.py::test_records_that_another_process_upgrades_meanwhile_are_upgraded_once",
    ),
    Mutant(
        "formats",
        "an edit loses a key that stands there twice",
        "config/edit.py",
        "                if repeated:\n",
        "                if len(repeated) > 1000:\n",
        "tests/config/test_formats.py::test_a_key_that_stands_there_twice_is_named_and_never_lost",
    ),
    Mutant(
        "formats",
        "notes on trust of a later version count",
        "config/trust.py",
        "            if _version(note) > NOTE_VERSION:\n",
        "            if _version(note) > NOTE_VERSION + 1000:\n",
        "tests/config/test_formats.py::test_notes_on_trust_of_a_later_version_are_refused",
    ),
    Mutant(
        "formats",
        "a session file that was changed is imported",
        "cli/session_transfer.py",
        '"sha256": digest.hexdigest()} or self._file.read(1):\n',
        '"sha256": json.loads(line)["sha256"]} or self._file.read(1):\n',
        "tests/cli/test_session_file.py::test_a_file_that_is_not_whole_is_refused_and_nothing_is_kept"
        "[events in another order]",
        long=True,
    ),
    # --- checks
    Mutant(
        "checks",
        "an agent is blamed for what the check did not keep",
        "check/agent/runner.py",
        "        elif wire.overflowed or (",
        "        elif False or (",
        "tests/check/test_verbose_agents.py::test_what_is_not_kept_is_not_judged_and_blames_nobody[start-v1]",
    ),
    Mutant(
        "checks",
        "what an agent that died had changed stays changed",
        "check/agent/runner.py",
        "        if not self.ledger.changes:\n            return []\n",
        "        if self.ledger.changes:\n            return []\n",
        "tests/check/test_settings_restored.py::test_when_the_agent_dies_its_options_are_set_back_by_the_next_process",
    ),
    Mutant(
        "checks",
        "the journal is written after the change is sent",
        "check/engine/wire.py",
        "        if self._observer is not None:\n            self._observer.sending(self, message)\n"
        "        self._keep(line, message, sent=True)\n        if self._running is not None:\n"
        '            self._running.write(line + b"\\n")\n',
        "        self._keep(line, message, sent=True)\n        if self._running is not None:\n"
        '            self._running.write(line + b"\\n")\n'
        "        if self._observer is not None:\n            self._observer.sending(self, message)\n",
        "tests/check/test_settings_restored.py::test_without_a_journal_nothing_is_changed",
    ),
    Mutant(
        "checks",
        "two readers of a stream that share its messages are no fault",
        "check/agent/remote/http_streams.py",
        '    elif not run["ended"]:\n',
        '    elif run["ended"] is None:\n',
        "tests/check/test_server_faults.py::test_a_faulty_server_fails_exactly_what_it_breaks"
        "[v1-ACCORD-REMOTE-017-TwoReadersShare]",
        long=True,
    ),
    Mutant(
        "checks",
        "a check writes its token into the report",
        "check/agent/remote/raw_sockets.py",
        'SHOWN = ("accept",',
        'SHOWN = ("authorization", "accept",',
        "tests/check/test_server_faults.py::test_a_token_is_in_no_record_of_a_check",
    ),
    Mutant(
        "checks",
        "a check loosens permission unasked",
        "check/engine/settings.py",
        '    return "" if _STRICT.search(target) and not _LOOSE.search(target) else "permission"\n',
        '    return ""\n',
        "tests/check/test_settings_restored.py::"
        "test_what_a_check_changed_is_set_back_and_the_model_and_modes_are_left_alone",
    ),
    Mutant(
        "checks",
        "a command of the judge runs on after it was killed",
        "check/agent/exchange.py",
        "            return _unknown_terminal(params)\n        self._end(id_)\n        return {}\n",
        "            return _unknown_terminal(params)\n        return {}\n",
        "tests/check/test_careful_agents.py::"
        "test_a_careful_agent_in_a_process_of_its_own_is_not_accused[KillsAndWaits]",
    ),
    Mutant(
        "checks",
        "a rule fails because the checker gave up a step",
        "check/agent/runner.py",
        "            self.evidence.skipped[step.name] = run.skipped = str(untouched)\n",
        "            self.evidence.skipped[step.name] = str(untouched)\n",
        "tests/check/test_settings_restored.py::"
        "test_a_rule_that_needs_no_change_is_judged_where_nothing_may_be_changed",
    ),
    Mutant(
        "checks",
        "a session that was not resumed is prompted",
        "check/agent/sessions.py",
        '            if resumed is not None and "result" in resumed:\n                await agent.turn(session)\n',
        "            if resumed is not None:\n                await agent.turn(session)\n",
        "tests/check/test_careful_agents.py::test_a_session_that_was_not_resumed_gets_no_prompt",
    ),
    Mutant(
        "checks",
        "a session without a turn must be resumed",
        "check/agent/sessions.py",
        '        await agent.turn(session)\n        if can(agent, "resume")',
        '        if can(agent, "resume")',
        "tests/check/test_careful_agents.py::"
        "test_an_agent_that_keeps_sessions_from_their_first_turn_on_can_resume_them_with_another_root",
    ),
    Mutant(
        "checks",
        "a stream that stays silent is no fault",
        "check/agent/remote/http_streams.py",
        '    if run["came"]:\n        return\n',
        "    if True:\n        return\n",
        "tests/check/test_server_faults.py::test_a_faulty_server_fails_exactly_what_it_breaks"
        "[v2_june-ACCORD-REMOTE-024-SilentStreamsStaySilent]",
        long=True,
    ),
)
