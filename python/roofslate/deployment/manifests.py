"""Kubernetes manifests of launch commands."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.deployment.launch_flags import HEAD, RANK
from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.deployment.launch_options import EngineOptions
    from roofslate.deployment.launch_writer import Flag, Process

__all__ = ["manifest_of", "yaml_text"]

# Images as the engines' documentation names them, for vLLM and SGLang with the version of the flags.
_IMAGES = {
    "vllm": "vllm/vllm-openai:v0.29.0",
    "sglang": "lmsysorg/sglang:v0.5.23",
    "trtllm": "nvcr.io/nvidia/tensorrt-llm/release:latest",
}
_HOSTS = {"vllm": "--host", "sglang": "--host", "trtllm": "--host"}
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,50}[a-z0-9])?")
_IMAGE = re.compile(r"[\w.:/@-]{1,300}")
_RESOURCES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Google": "google.com/tpu"}


def manifest_of(
    options: EngineOptions,
    processes: Sequence[Process],
    *,
    name: str | None,
    image: str | None,
    namespace: str | None,
    port: int,
    vendor: str,
) -> str:
    """Manifest of a deployment, as YAML."""
    if options.key == "dynamo":
        raise ValueRangeError(
            f"manifest: {options.title} has an operator, which takes a DynamoGraphDeployment; write the "
            "manifest for vllm, sglang or trtllm"
        )
    name = _checked("name", name or options.key, _NAME, "lower-case letters, digits and -, at most 52")
    if vendor not in _RESOURCES:
        raise ValueRangeError(
            f"manifest: chips of {vendor} have no known resource name; known are {', '.join(_RESOURCES)}"
        )
    if image is None and vendor != "NVIDIA":
        raise ValueRangeError(f"manifest: the default image of {options.title} is for NVIDIA; give image= for {vendor}")
    image = _checked("image", image or _IMAGES[options.key], _IMAGE, "the name of a container image")
    if namespace is not None:
        _checked("namespace", namespace, _NAME, "lower-case letters, digits and -, at most 52")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
        raise ValueRangeError(f"port: expected a whole number from 1 to 65535, got {shown(port)}")
    documents = []
    for process in processes:
        if process.nodes > 1 and options.key == "trtllm":
            raise ValueRangeError(
                f"manifest: a replica on {process.nodes} nodes of {options.title} is started by MPI; "
                "run the command, or write the manifest for vllm or sglang"
            )
        full_name = name if len(processes) == 1 else f"{name}-{process.role}"
        documents += _documents(options, process, full_name, image, namespace, port, _RESOURCES[vendor])
    return "---\n".join(map(yaml_text, documents))


def _checked(keyword: str, given: Any, pattern: re.Pattern[str], expected: str) -> str:
    if not isinstance(given, str) or not pattern.fullmatch(given):
        raise ValueRangeError(f"{keyword}: expected {expected}, got {shown(given)}")
    return given


def _documents(
    options: EngineOptions, process: Process, name: str, image: str, namespace: str | None, port: int, resource: str
) -> list[dict[str, Any]]:
    labels = {"app": name}
    about = {"name": name, **({} if namespace is None else {"namespace": namespace}), "labels": labels}
    documents: list[dict[str, Any]] = []
    if process.config:
        files = {f"{process.role}.yaml": json.dumps(process.config, indent=2) + "\n"}
        documents.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": files})
    selector = dict(labels)
    if process.nodes == 1:
        spec = {"replicas": process.replicas, "selector": {"matchLabels": labels}}
        pod = _pod(options, process, process.flags, name, image, port, resource)
        spec["template"] = {"metadata": {"labels": labels}, "spec": pod}
        documents.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about, "spec": spec})
    else:
        selector["role"] = "leader"
        workers = process.flags if process.worker_flags is None else process.worker_flags
        templates = {
            "size": process.nodes,
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": {
                "metadata": {"labels": selector},
                "spec": _pod(options, process, process.flags, name, image, port, resource),
            },
            "workerTemplate": {
                "metadata": {"labels": labels},
                "spec": _pod(options, process, workers, name, image, None, resource),
            },
        }
        spec = {"replicas": process.replicas, "leaderWorkerTemplate": templates}
        kind = "LeaderWorkerSet"
        documents.append({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": kind, "metadata": about, "spec": spec})
    ports = [{"name": "http", "port": port, "targetPort": port}]
    service = {"selector": selector, "ports": ports}
    documents.append({"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": service})
    return documents


def _pod(
    options: EngineOptions,
    process: Process,
    flags: Sequence[Flag],
    name: str,
    image: str,
    port: int | None,
    resource: str,
) -> dict[str, Any]:
    """Pod of one node, without a port for a worker."""
    words = list(map(shlex.quote, process.words))
    for flag in flags:
        if flag.name.startswith("config: "):
            continue
        words.append(flag.name)
        if flag.name == "--config":
            words.append(f"/config/{flag.value}")
        elif flag.value is not None:
            words.append(f'"{flag.value}"' if flag.is_shell else shlex.quote(flag.value))
    if port is not None:
        words += [_HOSTS[options.key], "0.0.0.0", "--port", str(port)]
    script = f"exec {' '.join(words)}"
    if any(flag.is_shell for flag in flags):
        script = f'export {HEAD}="$LWS_LEADER_ADDRESS" {RANK}="$LWS_WORKER_INDEX"; {script}'
    container: dict[str, Any] = {
        "name": options.key,
        "image": image,
        "command": ["sh", "-c", script],
        "resources": {"limits": {resource: process.chips}, "requests": {resource: process.chips}},
    }
    mounts = [{"name": "shared-memory", "mountPath": "/dev/shm"}]
    volumes: list[dict[str, Any]] = [{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}]
    if process.config:
        mounts.append({"name": "config", "mountPath": "/config"})
        volumes.append({"name": "config", "configMap": {"name": name}})
    if port is not None:
        container["ports"] = [{"containerPort": port}]
        container["readinessProbe"] = {"httpGet": {"path": "/health", "port": port}, "periodSeconds": 10}
    container["volumeMounts"] = mounts
    return {"containers": [container], "volumes": volumes}


def yaml_text(value: Mapping[str, Any]) -> str:
    """A mapping as YAML. Texts are quoted as in JSON, which YAML reads alike."""
    return "\n".join(_lines(value, 0)) + "\n"


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(value, dict):
        lines = []
        for key, item in value.items():
            written = key if re.fullmatch(r"[A-Za-z][\w./-]*", key) else json.dumps(key)
            if isinstance(item, (dict, list)) and item:
                lines += [f"{pad}{written}:", *_lines(item, depth + 1)]
            else:
                lines.append(f"{pad}{written}: {json.dumps(item)}")
        return lines
    lines = []
    for item in value:
        if isinstance(item, dict) and item:
            first, *further = _lines(item, depth + 1)
            lines += [f"{pad}- {first.lstrip()}", *further]
        else:
            lines.append(f"{pad}- {json.dumps(item)}")
    return lines
