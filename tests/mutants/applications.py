"""Mutants of what stands on the library: the built-in agent, adapters, dialects, evaluations, notebooks."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    # --- coder
    Mutant(
        "coder",
        "an undo that is killed forgets which files it has put back",
        "coder/undo.py",
        "            await on_put_back(done)\n",
        "            pass\n",
        "tests/coder/test_whole_sessions.py::test_a_session_with_a_turn_of_every_kind",
    ),
    Mutant(
        "coder",
        "the output of a command is sent again with every KiB",
        "session/tool_state.py",
        "PRINTED = 16 * 1024\n",
        "PRINTED = 1024\n",
        "tests/session/test_tool_state.py::test_all_output_of_a_command_is_shown_at_its_end_and_before_that_a_tenth_of_it",
    ),
    Mutant(
        "coder",
        "a line that a server printed is held back for ever",
        "agent/publisher.py",
        "        self._held_is_due = True\n",
        "        self._held_is_due = False\n",
        "tests/coder/test_cost.py::test_a_line_that_a_running_command_printed_is_shown_while_it_runs[v1]",
    ),
    Mutant(
        "coder",
        "a page leads from https to http",
        "coder/tools/fetch.py",
        '            if address.scheme == "https" and following.scheme == "http":\n',
        '            if address.scheme == "http" and following.scheme == "https":\n',
        "tests/coder/tools/test_fetch_tls.py::test_a_page_does_not_lead_from_https_to_http",
    ),
    # --- adapters
    Mutant(
        "adapters",
        "an approval of AG-UI has one form for all frameworks",
        "adapters/ag_ui.py",
        "    return next((name for name in APPROVAL_FIELDS if name in properties), None)\n",
        '    return "approved" if "approved" in properties else None\n',
        "tests/adapters/test_ag_ui_address.py::test_an_approval_is_given_in_the_form_that_its_framework_wants",
    ),
    Mutant(
        "adapters",
        "a call of AG-UI is shown only when its tool has ended",
        "adapters/ag_ui.py",
        "                if call_id is not None and self._messages.has_whole_arguments(call_id):\n",
        "                if call_id is None:\n",
        "tests/adapters/test_ag_ui_address.py::"
        "test_a_call_is_shown_when_its_arguments_are_whole_and_a_call_that_only_asks_is_not",
    ),
    Mutant(
        "adapters",
        "results in a list of messages do not end their calls",
        "adapters/ag_ui.py",
        "                await self._end_by_snapshot()\n",
        "",
        "tests/adapters/test_ag_ui_address.py::test_results_that_come_with_the_list_of_messages_alone_end_their_calls",
    ),
    Mutant(
        "adapters",
        "sys.exit in a task of a framework ends the program",
        "adapters/guarded_tasks.py",
        "        return self._make(loop, _Guarded(work) if is_guarded else work, **options)\n",
        "        return self._make(loop, work, **options)\n",
        "tests/adapters/test_framework_run.py::test_what_ends_a_program_ends_its_call_and_its_turn_alone",
    ),
    Mutant(
        "adapters",
        "the text of a tool's exception is its result",
        "adapters/failures.py",
        '    return f"The tool raised {type(error).__name__}; the agent\'s log says why"\n',
        '    return f"The tool raised {type(error).__name__}: {error}"\n',
        "tests/adapters/test_framework_run.py::test_the_text_of_a_tools_exception_is_in_the_log_alone",
    ),
    Mutant(
        "adapters",
        "entry points are imported before initialize is answered",
        "dialects.py",
        "    from importlib.metadata import EntryPoints\n",
        "    pass\nfrom importlib.metadata import EntryPoints\n",
        "tests/architecture/test_layers.py::test_an_agent_of_a_framework_starts_without_what_only_others_need",
    ),
    # --- dialects
    Mutant(
        "dialects",
        "a client of simse's page is ordered to run the agent's own tools",
        "simse/agent_tool.py",
        '    tags = {"sessionUpdate": TOOL_CALL_UPDATE, "type": TOOL_CALL_UPDATE}\n',
        '    tags = {"sessionUpdate": TOOL_CALL, "type": TOOL_CALL, "toolName": call.get("name"), "input": {}}\n',
        "tests/simse/test_agent.py::test_tools_of_the_agents_own_are_told_and_never_ordered",
    ),
    Mutant(
        "dialects",
        "an answer without a word of simse's page allows",
        "simse/permission.py",
        "    return found.pop() if len(found) == 1 else REJECT\n",
        '    return found.pop() if found else "allow_once"\n',
        "tests/simse/test_agent.py::test_an_answer_that_is_none_of_the_four_words_rejects",
    ),
    Mutant(
        "dialects",
        "every client is taken for one of simse's page",
        "simse/agent_translator.py",
        '        return not introduced or params.get("mcpServers") is None\n',
        "        return True\n",
        "tests/simse/test_agent.py::test_an_ordinary_client_is_served_as_before",
    ),
    # --- the official SDK's objects
    Mutant(
        "the official SDK's objects",
        "a key of _meta replaces an argument",
        "compat/acp/engine.py",
        "    kept = {key: value for key, value in meta.items() if key not in arguments}\n",
        "    kept = dict(meta)\n",
        "tests/compat/test_streams.py::test_no_key_of_meta_names_an_argument",
    ),
    # --- evaluations
    Mutant(
        "evaluations",
        "a line that a kill cut in two spoils the file",
        "evaluation/evaluate.py",
        "        self._file.truncate(whole)\n",
        "",
        "tests/evaluation/test_evaluate.py::test_results_are_lines_with_a_version_and_what_is_there_is_not_done_again",
    ),
    Mutant(
        "evaluations",
        "what is done is done again",
        "evaluation/evaluate.py",
        "        self.left = [trial for trial in trials if trial.key not in done]\n",
        "        self.left = list(trials)\n",
        "tests/evaluation/test_evaluate.py::test_results_are_lines_with_a_version_and_what_is_there_is_not_done_again",
    ),
    Mutant(
        "evaluations",
        "the copy of a run that failed stays",
        "evaluation/copies.py",
        "            finally:\n                await copies.remove(folder)\n",
        "            finally:\n                pass\n",
        "tests/evaluation/test_copies.py::test_one_that_raises_ends_the_others_and_is_raised_itself",
    ),
    # --- notebooks
    Mutant(
        "notebooks",
        "the text of an agent is markup",
        "session/notebook.py",
        "    return html.escape(text, quote=True)\n",
        "    return text\n",
        "tests/session/test_notebook.py::test_nothing_of_others_becomes_markup",
    ),
)
