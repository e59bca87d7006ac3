"""The patches: each breaks one promise in the smallest way, and names the test that must notice."""

from typing import NamedTuple


class Mutant(NamedTuple):
    promise: str
    name: str
    file: str
    """Below src/accord."""
    before: str
    after: str
    test: str


ORDER = "tests/connection/test_order.py::"
BOUNDED = "tests/connection/test_bounded.py::"
ANSWERS = "tests/connection/test_answers.py::"
CALLS = "tests/connection/test_calls.py::"
INPUT = "tests/connection/test_bad_input.py::"
CLOSE = "tests/connection/test_close.py::"
CHILD = "tests/transport/test_child.py::"
KILLS = "tests/agent/test_kills.py::"
PROMISES = "tests/agent/test_promises.py::"

MUTANTS = (
    # --- order
    Mutant(
        "order",
        "a task per notification",
        "connection/lane.py",
        "                        await coroutine\n",
        "                        asyncio.ensure_future(coroutine)\n",
        ORDER + "test_ten_thousand_updates_are_handled_in_order_although_handlers_suspend",
    ),
    Mutant(
        "order",
        "one runner for all lanes",
        "connection/lane.py",
        "                    self._hand_on_if_mine()\n",
        "",
        ORDER + "test_an_answer_waits_for_the_earlier_updates_of_the_session_it_names",
    ),
    Mutant(
        "order",
        "sessions share a context",
        "connection/lane.py",
        "Lane(key, self._context.copy())",
        "Lane(key, self._context)",
        ORDER + "test_what_a_handler_puts_into_its_context_is_not_seen_by_another_session",
    ),
    Mutant(
        "order",
        "an answer overtakes the updates before it",
        "connection/calls.py",
        "lane = None if call.inside or call.session is None else self._lanes.get(call.session)",
        "lane = None",
        ORDER + "test_an_answer_waits_for_the_earlier_updates_of_the_session_it_names",
    ),
    Mutant(
        "order",
        "an answer to a handler's own call waits for its lane",
        "connection/calls.py",
        "lane = None if call.inside or call.session is None",
        "lane = None if call.session is None",
        ORDER + "test_a_handler_may_call_back_while_a_thousand_updates_follow_it",
    ),
    Mutant(
        "order",
        "a request overtakes the updates before it",
        "connection/reception.py",
        "        if self._lanes.get(session) is None:\n            self._answers.start(inbound)",
        "        if True:\n            self._answers.start(inbound)",
        ORDER + "test_a_permission_request_after_two_slow_updates_is_handled_third",
    ),
    Mutant(
        "order",
        "one lane for all sessions",
        "connection/lane.py",
        "        lane = self._lanes.get(key)\n",
        '        key = "all"\n        lane = self._lanes.get(key)\n',
        ORDER + "test_a_stuck_session_delays_nothing_of_another",
    ),
    Mutant(
        "order",
        "a prompt is told to the automaton only when its lane is free",
        "connection/reception.py",
        "        if method is not None and method in arrivals:",
        "        if method is not None and method in arrivals and self._lanes.get(session) is None:",
        ORDER + "test_a_cancel_and_a_prompt_are_seen_when_they_are_read_and_never_queue",
    ),
    Mutant(
        "order",
        "a failing handler stops its lane",
        "connection/lane.py",
        "                self._failed(error)\n            finally:",
        "                self._failed(error)\n                raise\n            finally:",
        ORDER + "test_a_lane_goes_on_after_a_handler_that_raises",
    ),
    # --- bounded
    Mutant(
        "bounded",
        "the reader never pauses",
        "connection/reception.py",
        "        return backlog.bytes <= backlog.max_bytes and not self.ended\n",
        "        return not self.ended\n",
        BOUNDED + "test_a_slow_handler_slows_the_sender_and_loses_nothing",
    ),
    Mutant(
        "bounded",
        "the reader pauses also for a handler's own call",
        "connection/backlog.py",
        "            if self.calls_inside:\n                return not self.spent\n",
        "",
        BOUNDED + "test_the_reader_reads_on_for_a_call_made_inside_a_handler",
    ),
    Mutant(
        "bounded",
        "no end to reading on",
        "connection/backlog.py",
        "                return not self.spent",
        "                return True",
        BOUNDED + "test_a_call_inside_a_handler_fails_when_four_times_the_budget_is_spent",
    ),
    Mutant(
        "bounded",
        "running requests weigh nothing",
        "connection/backlog.py",
        "OPEN_REQUEST_BYTES = 1024",
        "OPEN_REQUEST_BYTES = 0",
        BOUNDED + "test_requests_whose_handlers_never_return_are_bounded_too",
    ),
    Mutant(
        "bounded",
        "a running request weighs as much as its text",
        "connection/answers.py",
        "        self._backlog.add(OPEN_REQUEST_BYTES)\n        self._tasks.add",
        "        self._backlog.add(len(repr(inbound.params)))\n        self._tasks.add",
        BOUNDED + "test_a_large_prompt_does_not_keep_its_own_cancel_from_being_read",
    ),
    Mutant(
        "bounded",
        "a line may be of any length",
        "wire/lines.py",
        "self._max_bytes = max_bytes",
        "self._max_bytes = max_bytes * 1_000_000",
        "tests/wire/test_lines.py",
    ),
    # --- exactly one answer
    Mutant(
        "one answer",
        "a request that is cancelled before it began is not answered",
        "connection/answers.py",
        "        self.refuse(inbound.id, CANCELLED, inbound.method, inbound.batch)\n",
        "",
        ANSWERS + "test_a_request_that_is_cancelled_before_it_began_is_answered_once",
    ),
    Mutant(
        "one answer",
        "a cancelled handler is not answered",
        "connection/answers.py",
        "                if self.lost:\n                    raise  # nobody is there to be answered\n",
        "                raise\n",
        ANSWERS + "test_a_cancelled_request_is_answered_with_request_cancelled",
    ),
    Mutant(
        "one answer",
        "the text of an exception crosses the wire",
        "connection/fault.py",
        '    return ErrorObject(-32603, "Internal error", {"correlationId": correlation_id})',
        '    return ErrorObject(-32603, str(error), {"correlationId": correlation_id})',
        ANSWERS + "test_a_faulty_handler_is_an_internal_error_that_says_only_where_to_look",
    ),
    Mutant(
        "one answer",
        "an error of the peer travels on",
        "connection/fault.py",
        "isinstance(error, RequestError) and not error.received",
        "isinstance(error, RequestError)",
        ANSWERS + "test_an_error_of_the_peer_that_is_not_caught_does_not_travel_back",
    ),
    Mutant(
        "one answer",
        "any result is sent",
        "connection/answers.py",
        '        raise LocalProtocolError(f"the handler of {inbound.method} returned a {type(result).__name__}")',
        "        return result",
        ANSWERS + "test_a_faulty_handler_is_an_internal_error_that_says_only_where_to_look",
    ),
    Mutant(
        "one answer",
        "a second request under an open id is served",
        "jsonrpc/peer.py",
        "        if id_ in self._open:\n            return False\n",
        "",
        ANSWERS + "test_a_second_request_under_an_open_id_is_refused_and_the_first_is_answered",
    ),
    Mutant(
        "one answer",
        "a spoiled answer leaves its caller waiting",
        "connection/reception.py",
        "            self._calls.spoil(message.id, message.reason)\n",
        "",
        CALLS + "test_an_answer_that_is_none_fails_the_call_and_the_connection_lives",
    ),
    # --- no line kills the connection
    Mutant(
        "no line kills",
        "a shortcut overlooks a second method",
        "connection/shortcut.py",
        '("method", Literal[method.name]),',
        '("method", str),',
        "tests/connection/test_shortcut.py",
    ),
    Mutant(
        "no line kills",
        "deep nesting escapes",
        "jsonrpc/parse.py",
        "parse_int=_integer)\n    except (ValueError, RecursionError):",
        "parse_int=_integer)\n    except ValueError:",
        INPUT + "test_an_agent_answers_bad_input_and_lives",
    ),
    Mutant(
        "no line kills",
        "bad UTF-8 passes",
        "jsonrpc/parse.py",
        "    if not text.isascii() and not _is_utf8(text):",
        "    if False:",
        INPUT + "test_an_agent_answers_bad_input_and_lives",
    ),
    Mutant(
        "no line kills",
        "a malformed text is not answered",
        "connection/reception.py",
        '            self._answers.refuse(message.id, message.error, "a malformed message", batch)',
        "            pass",
        INPUT + "test_an_agent_answers_bad_input_and_lives",
    ),
    Mutant(
        "no line kills",
        "a bad notification ends the reader",
        "connection/reception.py",
        "            self.counts.bad_notifications += 1\n",
        "            raise\n",
        INPUT + "test_a_bad_update_is_dropped_alone_and_counted",
    ),
    # --- nothing is lost
    Mutant(
        "nothing lost",
        "an unknown variant is an error",
        "protocol/salvage.py",
        '        if self.strict and not tag.startswith("_"):',
        "        if True:",
        INPUT + "test_what_is_unknown_is_delivered_and_kept",
    ),
    Mutant(
        "nothing lost",
        "an unknown variant loses its payload",
        "protocol/codec.py",
        "        return value.payload",
        "        return {}",
        "tests/protocol",
    ),
    Mutant(
        "nothing lost",
        "a lone surrogate is not sent",
        "protocol/codec.py",
        "        text += _encode_escaped(value)",
        "        text += b'null'",
        "tests/protocol/test_codec.py",
    ),
    Mutant(
        "nothing lost",
        "a known tag with a bad payload is kept as unknown",
        "protocol/salvage.py",
        "                return self._struct(member, value, path)\n        return self._keep",
        "                try:\n                    return self._struct(member, value, path)\n"
        "                except Misfit:\n                    return Unknown(tag, value)\n        return self._keep",
        INPUT + "test_a_bad_update_is_dropped_alone_and_counted",
    ),
    Mutant(
        "nothing lost",
        "the last words of a peer are not handled",
        "connection/connection.py",
        "        while tasks := self._running():",
        "        while tasks := []:",
        CLOSE + "test_what_the_peer_said_before_it_left_is_still_handled",
    ),
    # --- processes are ours
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
        "transport/guard.py",
        "            os.dup2(_STDERR, _STDOUT)\n",
        "            pass\n",
        "tests/transport/test_stdio.py::test_stray_output_goes_to_stderr_and_nobody_else_eats_the_input",
    ),
    Mutant(
        "bounded",
        "a transport reads on although nobody receives",
        "transport/streams.py",
        "            self._source.wanted = False\n            self._wake_receiver()\n\n    def _hand_over",
        "            self._wake_receiver()\n\n    def _hand_over",
        "tests/transport/test_streams.py",
    ),
    Mutant(
        "one answer",
        "a sender's frame may be torn by its cancellation",
        "transport/turnstile.py",
        "            if passed.done():\n                continue\n",
        "",
        "tests/transport",
    ),
    # --- agents: kept before it is said
    Mutant(
        "kept",
        "what is said is kept a moment later",
        "agent/outlet.py",
        "            await self._store.commit(self._session_id, ticket)\n",
        "            asyncio.ensure_future(self._store.commit(self._session_id, ticket))\n",
        PROMISES + "test_nothing_is_said_before_it_is_kept",
    ),
    Mutant(
        "kept",
        "what is said is kept a moment later, and then comes the kill",
        "agent/outlet.py",
        "            await self._store.commit(self._session_id, ticket)\n",
        "            asyncio.ensure_future(self._store.commit(self._session_id, ticket))\n",
        KILLS + "test_what_a_client_received_survives_every_kill",
    ),
    Mutant(
        "kept",
        "a prompt is worked on before it is kept",
        "agent/foreground.py",
        "            await outlet.tell(message, show=self._echoes)\n            await outlet.settle()\n",
        "            await outlet.tell(message, show=self._echoes)\n",
        PROMISES + "test_a_prompt_is_kept_before_its_handler_runs_and_before_it_is_answered",
    ),
    Mutant(
        "kept",
        "what a dead process left open stays open",
        "agent/desk.py",
        "else healing(transcript)\n",
        "else healing(transcript)[:0]\n",
        "tests/agent/test_sessions.py::test_what_a_dead_process_left_open_is_brought_to_an_end",
    ),
    Mutant(
        "processes",
        "the watchdog hears of a command when it runs",
        "workspace/launch.py",
        "    lineage.adopt(marker, 0)\n",
        "",
        KILLS + "test_a_command_is_gone_also_where_the_kill_comes_right_behind_its_start",
    ),
    # --- agents: turns
    Mutant(
        "turns",
        "a cancelled turn ends with its handler's own reason",
        "session/turn.py",
        '        return self._end("cancelled") if self._at_work else self._illegal(event)',
        "        return self._finish(event) if isinstance(event, HandlerFinished) else self._end('cancelled')",
        PROMISES + "test_a_cancelled_turn_is_cancelled_whatever_its_handler_makes_of_it",
    ),
    Mutant(
        "turns",
        "the last prompt that was held is the next",
        "session/turn.py",
        "        prompt = next(iter(self._held))\n",
        "        prompt = next(reversed(self._held))\n",
        PROMISES + "test_prompts_that_were_held_have_their_turns_in_the_order_of_arrival",
    ),
    Mutant(
        "turns",
        "updates overtake the answer that opens their session",
        "agent/outlet.py",
        "        if self._opening and self._holds:\n            return failure\n",
        "",
        "tests/agent/test_sessions.py::test_what_is_told_while_a_session_is_opened_leaves_behind_the_answer",
    ),
    Mutant(
        "turns",
        "a permission that was never offered counts",
        "agent/question.py",
        "        return cls(next((option for option in offered if option.id == option_id), None))",
        "        return cls(next((option for option in offered if option.id == option_id), ALLOW_OPTIONS[0]))",
        PROMISES + "test_a_permission_that_was_never_offered_is_none",
    ),
    Mutant(
        "turns",
        "the command of a cancelled turn runs on",
        "agent/foreground.py",
        "            await self._session.end_commands()\n        except asyncio.CancelledError:",
        '            if status != "cancelled":\n                await self._session.end_commands()\n'
        "        except asyncio.CancelledError:",
        PROMISES + "test_a_cancelled_turn_ends_the_command_that_it_started",
    ),
    Mutant(
        "turns",
        "the client's terminal of a cancelled turn is not released",
        "agent/foreground.py",
        "            await self._session.end_commands()\n        except asyncio.CancelledError:",
        '            if status != "cancelled":\n                await self._session.end_commands()\n'
        "        except asyncio.CancelledError:",
        PROMISES + "test_a_cancelled_turn_releases_the_terminal_that_the_client_runs",
    ),
)
