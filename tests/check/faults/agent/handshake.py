"""Agents that are wrong about the handshake and about what they say of themselves in it."""

from __future__ import annotations

from typing import Any

from tests.check.faults.change import before, gives, lacks, refuses, sets, skips, takes
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v2 import PlainV2
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, NO_VERSION, Refused

__all__: list[str] = []

# --- versions

plain("ACP-INIT-001", V1 + JUNE, "NoHandshake")(on_initialize=refuses(INTERNAL_ERROR))
plain("ACP-INIT-001", V2, "RefusesEveryHandshake")(on_initialize=refuses(INTERNAL_ERROR))
plain("ACP-INIT-002", V1, "OnlyVersionTwo")(version=gives(2))
plain("ACP-INIT-003", V1 + JUNE, "EchoesAnyVersion")(version=lambda _, __, asked: asked)
plain("ACP-INIT-003", V1, "RefusesTheFuture")(version=refuses(INVALID_PARAMS, lambda _, asked: asked > 1))
plain("ACP-INIT-003", V2, "EchoesTheFarFuture")(choose_version=lambda _, old, asked: asked if asked > 2 else old(asked))
plain("ACP-INIT-201", JUNE, "VersionZero")(version=lambda _, old, asked: 0 if asked == old(asked) else old(asked))
plain("ACP-INIT-201", V2, "SpeaksAVersionThatNobodyAskedFor")(handshake_result=sets(protocolVersion=3))
plain("ACP-INIT-202", JUNE, "RefusesThePast")(version=refuses(INVALID_PARAMS, lambda _, asked: asked == 1))
plain("ACP-INIT-202", V2, "DoesNotKnowVersionOne")(choose_version=refuses(INVALID_PARAMS, lambda _, asked: asked == 1))
plain("ACCORD-INIT-205", V2, "WelcomesAncientClients")(
    choose_version=lambda _, old, asked: old(asked) if asked >= 1 else 2
)
plain("ACCORD-INIT-206", V2, "KeepsItsVersionsToItself")(choose_version=refuses(NO_VERSION, lambda _, asked: asked < 1))
plain("ACCORD-INIT-211", V2, "SpeaksOnlyItsLatest")(
    choose_version=lambda _, old, asked: 2 if asked == 1 else old(asked)
)
plain("ACCORD-INIT-002", V1 + JUNE, "AnyVersionWillDo", note="accepted")(
    on_initialize=takes(
        lambda params: {**params, "protocolVersion": 1},
        lambda _, params: not isinstance(params.get("protocolVersion"), int),
    )
)

# --- who they are, what they can do

plain("ACP-INIT-001", V1, "CapabilitiesAreAList")(handshake_result=sets(agentCapabilities=["everything"]))
plain("ACP-INIT-004", V1 + JUNE, "Nameless")(handshake_result=lacks("agentInfo"))
plain("ACP-INIT-203", V2, "HasNoVersion")(info=sets(version=""))
plain("ACP-INIT-204", JUNE, "CapabilitiesAreTrue")(
    capabilities=gives({"session": {"mcp": {"stdio": True}}, "auth": {}})
)
plain("ACP-INIT-204", V2, "SaysTrueToImages")(session_capabilities=gives({"prompt": {"image": True}}))
plain("ACP-SCHEMA-001", JUNE, "TitleIsANumber")(info=sets(title=7))
plain("ACP-SCHEMA-001", V2, "HasANumberForATitle")(info=sets(title=5))
plain("ACP-SCHEMA-002", V1 + JUNE, "KeysOfItsOwn")(prompt_result=sets(tokens=12))
plain("ACP-SCHEMA-002", V2, "TellsItsModelsWithTheSession")(session_result=sets(models=["small", "large"]))
plain("ACP-EXT-202", JUNE, "CapabilityOfItsOwn")(capabilities=sets(coffee={}))
full("ACP-EXT-202", V2, "AdvertisesAnExtraBesideTheMetadata")(capabilities=sets(**{"example.com/extras": {"level": 2}}))
full("ACCORD-JUNE-INIT-001", JUNE, "SpeaksLikeV1")(handshake_result=sets(agentCapabilities={"loadSession": True}))

# --- order


@breaks("ACCORD-INIT-001", "v1", "v2_june", note="refused")
class HandshakeComesFirst(PlainV1):
    is_met = False

    async def on_initialize(self, params: dict[str, Any]) -> Any:
        result = await super().on_initialize(params)
        self.is_met = True
        return result

    async def on_session_new(self, params: dict[str, Any]) -> Any:
        if not self.is_met:
            raise Refused(INVALID_REQUEST, "Invalid request")
        return await super().on_session_new(params)


plain("ACCORD-INIT-201", V2, "ServesBeforeTheHandshake")(check_order=skips(lambda peer: not peer.version))
plain("ACCORD-INIT-202", V2, "AnswersEarlyNotifications")(
    take_notification=before(
        lambda peer, *_: peer.refuse(None, INVALID_REQUEST, "Initialize first"), lambda peer, *_: not peer.version
    )
)
plain("ACCORD-INIT-203", V2, "WelcomesTheNameless")(check_client=skips())


@breaks("ACCORD-INIT-204", "v2")
class GivesUpAfterABadHandshake(PlainV2):
    has_failed = False

    async def on_initialize(self, params: dict[str, Any]) -> Any:
        if self.has_failed:
            raise Refused(INVALID_REQUEST, "It is too late for that")
        self.has_failed = True
        result = await super().on_initialize(params)
        self.has_failed = False
        return result


def _has_strange_capabilities(_: Any, params: dict[str, Any]) -> bool:
    values = (params.get("capabilities") or {}).values()
    return any(value is not None and not isinstance(value, dict) for value in values)


plain("ACCORD-INIT-207", V2, "WantsGoodCapabilities")(on_initialize=refuses(INVALID_PARAMS, _has_strange_capabilities))
plain("ACCORD-INIT-208", V2, "ShakesHandsOnce")(check_repetition=refuses(INVALID_REQUEST, lambda peer, _: peer.version))
plain("ACCORD-INIT-209", V2, "ShakesHandsAnytime")(check_repetition=skips())
plain("ACCORD-INIT-210", V2, "WantsANameFromTheFuture")(check_client=takes(lambda asked: min(asked, 2)))
