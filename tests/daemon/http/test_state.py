"""What the server tells about itself, and its own addresses."""

import pytest

from paceline import config as configuration
from paceline.config import Config, ModelsConfig
from paceline.errors import EngineError, InputError
from support.asgi_client import Api
from support.fake_service import END, EngineState, FakeHost, FakeService, Slot

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}


def asleep():
    """An API whose models are not loaded."""
    service = FakeService(config=Config(models=ModelsConfig(pair="some-pair")))
    return Api(service, host=FakeHost(service, loaded=False))


def test_the_loaded_model_is_listed():
    model = Api().get("/v1/models").json()["data"][0]
    assert (model["id"], model["object"], model["owned_by"]) == ("tiny", "model", "paceline")
    assert (model["created"], model["meta"]["n_ctx"]) == (1700000000, 4096)


def test_models_that_are_not_loaded_go_by_the_configuration():
    model = asleep().get("/v1/models").json()["data"][0]
    assert (model["id"], model["meta"]) == ("some-pair", None)
    service = FakeService(config=configuration.Config())
    assert Api(service, host=FakeHost(service, loaded=False)).get("/v1/models").json()["data"] == []


def test_one_model_can_be_asked_for_even_with_slashes_in_its_name():
    api = Api()
    assert api.get("/v1/models/tiny").json()["id"] == "tiny"
    assert api.get("/v1/models/other").status == 404
    api.service.model = "owner/repository:file.gguf"
    assert api.get("/v1/models/owner/repository:file.gguf").status == 200


@pytest.mark.parametrize("path", ["/health", "/v1/health", "/props", "/slots"])
def test_while_models_are_loaded_it_says_so_as_llama_cpps_server_does(path):
    api = asleep()
    api.host.loading = True
    reply = api.get(path)
    assert (reply.status, reply.error["message"], reply.error["type"]) == (503, "Loading model", "unavailable_error")
    api.host.loading = False
    assert api.get(path).status == 200
    assert api.get("/health").json() == {"status": "ok"}


def test_looking_loads_nothing():
    api = asleep()
    for path in ("/health", "/props", "/slots", "/metrics", "/v1/models", "/paceline/status"):
        assert api.get(path).status == 200
    assert api.host.loaded is None
    assert api.get("/props").json()["is_sleeping"] is True
    assert api.get("/slots").json() == []


def test_props_tell_what_clients_look_for():
    props = Api().get("/props").json()
    assert props["default_generation_settings"]["n_ctx"] == 4096
    assert props["default_generation_settings"]["params"]["top_k"] == 40
    assert props["default_generation_settings"]["params"]["speculation"] == "auto"
    assert props["default_generation_settings"]["params"]["strict"] is False
    assert (props["total_slots"], props["model_alias"], props["is_sleeping"]) == (8, "tiny", False)
    assert (props["bos_token"], props["eos_token"]) == ("<s>", "<|im_end|>")
    assert "message.content" in props["chat_template"]


def test_slots_tell_who_is_computed():
    idle, busy = Api().get("/slots").json()
    assert (idle["id"], idle["is_processing"], idle["state"]) == (0, False, "idle")
    assert (busy["is_processing"], busy["next_token"]["n_decoded"], busy["priority"]) == (True, 3, "chat")


def test_whoever_needs_a_free_slot_is_told_that_there_is_none():
    api = Api()
    assert api.get("/slots?fail_on_no_slot=1").status == 200
    api.service.status = lambda: EngineState(slots=(Slot(0, "decode"), Slot(1, "prefill")))
    assert api.get("/slots?fail_on_no_slot=1").status == 503
    assert api.get("/slots").status == 200


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"content": "a<|im_end|>"}, [97, END]),
        ({"content": "<s>", "parse_special": False}, list(b"<s>")),
        ({"content": "a", "add_special": True}, [256, 97]),
        ({"content": ["a", 5, "b"], "add_special": True}, [256, 97, 5, 98]),
        ({"content": ""}, []),
        (
            {"content": "aé<s>", "with_pieces": True},
            [
                {"id": 97, "piece": "a"},
                {"id": 195, "piece": [195]},
                {"id": 169, "piece": [169]},
                {"id": 256, "piece": "<s>"},
            ],
        ),
    ],
)
def test_text_becomes_tokens(body, tokens):
    assert Api().post("/tokenize", body).json() == {"tokens": tokens}


def test_tokens_become_text():
    api = Api()
    assert api.post("/detokenize", {"tokens": [195, 169, END]}).json() == {"content": "é<|im_end|>"}
    assert api.post("/detokenize", {"tokens": [999]}).error["param"] == "tokens"
    assert api.post("/tokenize", {"content": [999]}).error["param"] == "content"
    assert api.post("/tokenize", {}).error["param"] == "content"


def test_a_conversation_is_shown_as_the_model_sees_it():
    reply = Api().post("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})
    assert reply.json() == {"prompt": "user: Hi\n"}


def test_a_conversation_the_template_refuses_is_the_clients_fault():
    api = Api()
    object.__setattr__(api.service.vocabulary, "chat_template", "{{ raise_exception('no system message') }}")
    reply = api.post("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})
    assert (reply.status, reply.error["class"]) == (400, "ModelError")


@pytest.mark.parametrize("path", ["/v1/embeddings", "/embeddings", "/embedding"])
def test_embeddings_are_refused_clearly(path):
    reply = Api().post(path, {"input": "x"})
    assert (reply.status, reply.error["type"], reply.error["code"]) == (400, "invalid_request_error", "unsupported")
    assert "embedding" in reply.error["message"]


def test_the_daemon_says_who_it_is_and_how_it_is():
    api = Api()
    assert api.get("/paceline/hello").json()["pid"] == 42
    assert api.get("/paceline/status").json()["socket"] == "/run/paceline.sock"


@pytest.mark.parametrize(("body", "when"), [({}, "idle"), ({"when": "idle"}, "idle"), ({"when": "now"}, "now")])
def test_the_daemon_can_be_stopped(body, when):
    api = Api()
    assert api.post("/paceline/stop", body).status == 202
    assert api.control.stopped == [when]


def test_the_daemon_is_not_stopped_by_nonsense():
    api = Api()
    assert api.post("/paceline/stop", {"when": "never"}).error["param"] == "when"
    assert api.get("/paceline/stop").status == 405
    assert api.control.stopped == []


def figures(api):
    """The metrics by name with labels."""
    lines = api.get("/metrics").body.decode().splitlines()
    return {name: float(value) for name, _, value in (each.rpartition(" ") for each in lines if each[0] != "#")}


def test_metrics_count_what_was_done():
    api = Api()
    api.post("/v1/chat/completions", CHAT)
    api.post("/completion", {"prompt": "x", "stream": True})
    found = figures(api)
    assert found['paceline_requests_total{outcome="finished",route="/v1/chat/completions"}'] == 1
    assert found['paceline_requests_total{outcome="finished",route="/completion"}'] == 1
    assert found["paceline_prompt_tokens_total"] == 18
    assert found["paceline_cached_tokens_total"] == 6
    assert found["paceline_predicted_tokens_total"] == 6
    assert found['paceline_answers_total{reason="stop"}'] == 2
    assert found["paceline_predicted_seconds_total"] == pytest.approx(0.02)
    assert (found["paceline_queue"], found["paceline_cells_used"], found["paceline_loaded"]) == (2, 24, 1)
    assert found["paceline_requests_in_flight"] == 0


def test_metrics_tell_refused_requests_from_failed_ones():
    api = Api()
    api.service.refusal = InputError("a stop string is empty")
    api.post("/completion", {"prompt": "x"})
    api.service.refusal = EngineError("llama.cpp refused")
    api.post("/completion", {"prompt": "x"})
    found = figures(api)
    assert found['paceline_requests_total{outcome="refused",route="/completion"}'] == 1
    assert found['paceline_requests_total{outcome="failed",route="/completion"}'] == 1


def test_metrics_of_two_applications_are_apart_and_of_one_hosts_listeners_together():
    from paceline.daemon.http.app import Apps

    one, other = Api(), Api()
    one.post("/completion", {"prompt": "x"})
    assert "paceline_predicted_tokens_total" in figures(other)
    assert figures(other)["paceline_predicted_tokens_total"] == 0
    apps = Apps()
    one.app, other.app = (apps(one.host, token=None, control=one.control) for _ in range(2))
    one.post("/completion", {"prompt": "x"})
    assert figures(other)["paceline_predicted_tokens_total"] == 3


def test_models_that_are_not_loaded_have_no_queue():
    assert figures(asleep())["paceline_loaded"] == 0
    assert "paceline_queue" not in figures(asleep())
