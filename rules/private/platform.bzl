"""The platform of a runtime."""

_PLATFORMS = "//command_line_option:platforms"
_HOST = "//command_line_option:host_platform"

def _runtime_impl(settings, attr):
    if not attr.platform:
        return {_PLATFORMS: settings[_PLATFORMS]}
    return {_PLATFORMS: [str(attr.platform)]}

# Builds a target for its attribute `platform`.
runtime_platform = transition(
    implementation = _runtime_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)

def _programs_impl(settings, attr):
    if not attr.platform:
        return {_PLATFORMS: settings[_PLATFORMS]}

    # Bazel 4.2.3 has no value for its own default.
    return {_PLATFORMS: [str(settings[_HOST] or "@local_config_platform//:host")]}

# Programs do not depend on the platform of the runtime, so they are lowered once for all of them.
programs_platform = transition(
    implementation = _programs_impl,
    inputs = [_PLATFORMS, _HOST],
    outputs = [_PLATFORMS],
)
