"""Mutants of traces and telemetry."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    # --- traces
    Mutant(
        "traces",
        "the index pairs an answer with a request of its own direction",
        "trace/index_columns.py",
        "        asked = state.open.pop((connection, state.reverse[direction], message.id), None)\n",
        "        asked = state.open.pop((connection, direction, message.id), None)\n",
        "tests/trace/test_index.py::test_an_answer_goes_to_the_request_of_the_other_direction_although_both_have_its_id",
    ),
    Mutant(
        "traces",
        "a line that is not complete yet is indexed",
        "trace/index.py",
        '            cut = chunk.rfind(b"\\n")\n',
        "            cut = len(chunk)\n",
        "tests/trace/test_index.py::test_a_line_that_is_not_complete_yet_is_indexed_when_it_is",
    ),
    Mutant(
        "traces",
        "an index of another trace is used",
        "trace/index_file.py",
        "            return status.st_size >= state.end and self._digest(state.end) == state.digest\n",
        "            return status.st_size >= state.end\n",
        "tests/trace/test_index.py::test_an_index_that_does_not_fit_is_made_again",
    ),
    Mutant(
        "traces",
        "a newer trace is read",
        "trace/format.py",
        "    if version > VERSION:\n",
        "    if version > VERSION + 1:\n",
        "tests/trace/test_imports.py::test_a_file_that_cannot_be_used_is_refused_with_one_sentence",
    ),
    Mutant(
        "traces",
        "secrets of another tool's recording are in an export",
        "trace/exports/selection.py",
        "        self._redactor = None if is_masked else Redactor()\n",
        "        self._redactor = None\n",
        "tests/trace/test_exports.py::test_secrets_are_masked_on_the_way_out_unless_the_user_wants_them",
    ),
    Mutant(
        "traces",
        "an answer without a direction goes to the first open request, also to one that it does not fit",
        "trace/direction.py",
        "    fitting = [request for request in waiting if _fits(request, result)]\n",
        "    fitting = waiting[:1]\n",
        "tests/trace/test_imports.py::test_an_answer_that_two_requests_wait_for_belongs_to_the_one_that_it_fits",
    ),
    Mutant(
        "traces",
        "a checkpoint shares its transcript with the next message",
        "trace/fold.py",
        "            checkpoints.keep(place + 1, found)\n",
        "            checkpoints.keep(place, found)\n",
        "tests/trace/test_fold.py::test_a_fold_at_any_message_is_the_same_with_and_without_checkpoints",
    ),
    Mutant(
        "traces",
        "a recorder that fails ends the conversation",
        "trace/connection_trace.py",
        "        except Exception as error:  # noqa: BLE001 - the conversation goes on, whatever the recorder does\n",
        "        except OSError as error:\n",
        "tests/client/test_trace.py::test_a_recorder_that_fails_harms_nothing",
    ),
    Mutant(
        "traces",
        "a trace of a connection lacks what could not be sent at once",
        "trace/connection_trace.py",
        "        self.recorder.text(self._own, self._other, text)\n        await self.transport.send(text)\n",
        "        await self.transport.send(text)\n",
        "tests/client/test_trace.py::test_every_text_of_a_conversation_is_recorded[1]",
    ),
    Mutant(
        "traces",
        "a tap hands bytes to its recorder before it forwards them",
        "trace/tap.py",
        """            is_open = _write(self._target, data) or self._keeps_target
            self.bytes += len(data)
            order.hand_over()
""",
        """            self.bytes += len(data)
            order.hand_over()
            is_open = _write(self._target, data) or self._keeps_target
""",
        "tests/trace/test_tap.py::test_bytes_are_forwarded_before_they_are_handed_to_the_recorder",
    ),
    Mutant(
        "traces",
        "an answer may be recorded before its request",
        "trace/tap.py",
        """            order.note(self._number, data)
            is_open = _write(self._target, data) or self._keeps_target
            self.bytes += len(data)
            order.hand_over()
""",
        """            is_open = _write(self._target, data) or self._keeps_target
            self.bytes += len(data)
            time.sleep(0.001 if self._number == 0 else 0)
            order.note(self._number, data)
            order.hand_over()
""",
        "tests/trace/test_tap.py::test_an_answer_is_never_recorded_before_its_request",
    ),
    Mutant(
        "traces",
        "the value of a header is recorded",
        "trace/redaction.py",
        '_HOLDERS = frozenset({b"env", b"environment", b"headers", b"requestheaders", b"httpheaders"})\n',
        '_HOLDERS = frozenset({b"env", b"environment"})\n',
        "tests/trace/test_redaction.py::test_a_secret_is_masked_and_its_neighbours_stay",
    ),
    Mutant(
        "traces",
        "a secret in the fragment of an address is recorded",
        "trace/redaction.py",
        ', (b"#", rb"#[!/]*"))',
        ")",
        "tests/trace/test_redaction.py::test_a_secret_is_masked_and_its_neighbours_stay",
    ),
    Mutant(
        "traces",
        "of two secrets that overlap, the end of the second one is recorded",
        "trace/redaction.py",
        "            start = max(begin, at)\n",
        "            start = begin if begin >= at else stop\n",
        "tests/trace/test_redaction.py::test_a_secret_is_masked_and_its_neighbours_stay",
    ),
    Mutant(
        "traces",
        "stderr is Markdown in the document",
        "trace/exports/markdown.py",
        '    block = markdown_block(shown[:MAX_TEXT_CHARACTERS] + cut, own("text"))\n',
        "    block = shown[:MAX_TEXT_CHARACTERS] + cut\n",
        "tests/trace/test_exports.py::test_nothing_of_others_is_markup_in_the_document",
    ),
    Mutant(
        "traces",
        "a line of others is Markdown in a document",
        "display.py",
        "    return SafeText(_MARKUP.sub(",
        "    return text or SafeText(_MARKUP.sub(",
        "tests/cli/show/test_markdown.py::test_titles_steps_and_calls_bring_no_markup",
    ),
    Mutant(
        "traces",
        "a fence of a message that is not closed takes in what follows",
        "display.py",
        '    return filled("\\n\\n> {}", SafeText(inert.replace("\\n", "\\n> "))) if has_fence else inert\n',
        "    return inert if has_fence else inert\n",
        "tests/session/test_notebook.py::test_markdown_shows_html_and_pictures_as_text",
    ),
    Mutant(
        "traces",
        "a test is written that Python refuses, as its trace's name is not UTF-8",
        "trace/exports/pytest_file.py",
        "exact(selection.name)",
        "selection.name",
        "tests/trace/test_exports.py::test_a_test_of_a_file_whose_name_is_not_utf_8_is_a_module",
    ),
    Mutant(
        "traces",
        "an export has the secrets of a stray print",
        "trace/exports/selection.py",
        "self.index.kind(row) != RecordKind.BROKEN\n",
        "self.index.kind(row) >= 0\n",
        "tests/trace/test_exports.py::test_secrets_in_commands_stray_prints_and_unreadable_lines_are_masked_too",
    ),
    Mutant(
        "traces",
        "a damaged index is believed",
        "trace/index_file.py",
        '                if sums != dict(database.execute("select number, sum from block")):\n',
        "                if not sums:\n",
        "tests/trace/test_index.py::test_an_index_that_does_not_fit_is_made_again",
    ),
    Mutant(
        "traces",
        "a kill loses earlier reads",
        "trace/recorder_process.py",
        "            at = start + length\n        self.flush()\n",
        "            at = start + length\n",
        "tests/trace/test_tap.py::test_every_read_is_in_the_file_while_the_talk_goes_on",
    ),
    Mutant(
        "traces",
        "a changed value is not found in a replay",
        "trace/replay/report.py",
        "    elif not _are_equal(recorded, live):\n",
        "    elif type(recorded) is not type(live):\n",
        "tests/trace/test_replay.py::test_a_changed_value_of_the_client_is_found",
    ),
    Mutant(
        "traces",
        "a tap holds back requests and answers as it does a stream",
        "trace/tap.py",
        "            is_next = stream == self._latest_stream and gap < _STREAM_GAP_SECONDS\n",
        "            is_next = gap < _STREAM_GAP_SECONDS\n",
        "tests/trace/test_tap.py::test_only_many_reads_of_one_side_close_together_are_a_stream",
    ),
    Mutant(
        "traces",
        "a tap wakes for each small message of a stream",
        "trace/tap.py",
        "            if len(data) < _COLLECTED_BYTES and (pause := order.pause_seconds(self._number)):\n",
        "            if not data and (pause := order.pause_seconds(self._number)):\n",
        "tests/trace/test_tap.py::test_what_a_streaming_side_writes_while_the_relay_waits_is_one_read",
    ),
    Mutant(
        "traces",
        "a full disk loses lines that were written",
        "trace/writer.py",
        '        kept_bytes = 0 if self._gzip is not None else lines.rfind(b"\\n", 0, written_bytes) + 1\n',
        "        kept_bytes = 0\n",
        "tests/trace/test_writer.py::test_a_disk_that_fills_up_in_the_middle_of_a_write_keeps_the_whole_lines_before",
    ),
    Mutant(
        "traces",
        "a secret in a stream is recorded",
        "trace/chunks.py",
        "        if (masks and has_shape(joined)) or _SEPARATOR in joined:\n",
        "        if _SEPARATOR in joined:\n",
        "tests/trace/test_text_encoder.py::test_secrets_in_a_stream_are_masked_and_everything_else_stays",
    ),
    Mutant(
        "traces",
        "a text that only begins and ends like a chunk is recorded as one",
        "trace/chunks.py",
        '        if prefix + (suffix + prefix).join(words) + suffix != b"".join(texts):\n            return None\n',
        "",
        "tests/trace/test_text_encoder.py::test_a_text_between_chunks_is_recorded_as_itself",
    ),
    # --- telemetry
    Mutant(
        "telemetry",
        "the turn's span is not current around its handler",
        "agent/turn_runner.py",
        "        turn._span.attach()  # until the end of this task\n",
        "",
        "tests/telemetry/test_processes.py::test_a_handler_in_a_thread_has_the_turn_as_its_current_span[1]",
    ),
    Mutant(
        "telemetry",
        "an author's traceparent is overwritten",
        "telemetry/span.py",
        "    return {**added, **own} or None\n",
        "    return {**own, **written} or None\n",
        "tests/telemetry/test_turns.py::test_values_of_the_author_are_not_overwritten",
    ),
    Mutant(
        "telemetry",
        "a turn hangs below the turn before it",
        "telemetry/span.py",
        "    return within.context if isinstance(within, RecordedSpan) else Context()\n",
        "    return within.context if isinstance(within, RecordedSpan) else None  # type: ignore[return-value]\n",
        "tests/telemetry/test_turns.py::test_a_turn_is_no_part_of_the_turn_before_it",
    ),
    Mutant(
        "telemetry",
        "the span of a prompt never ends when its agent is gone",
        "client/session.py",
        "            self._feed(Abandoned(turn))\n            turn._end_span()\n",
        "            self._feed(Abandoned(turn))\n",
        "tests/telemetry/test_processes.py::test_the_span_of_a_prompt_ends_when_its_agent_is_killed",
    ),
    Mutant(
        "telemetry",
        "opentelemetry is imported without a provider",
        "telemetry/provider.py",
        '    if "opentelemetry.trace" not in modules and "opentelemetry.metrics" not in modules:\n',
        "    if not modules:\n",
        "tests/telemetry/test_processes.py::test_without_a_provider_nothing_is_imported_and_nothing_is_sent",
    ),
)
