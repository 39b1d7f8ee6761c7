"""The platform of a runtime."""

_PLATFORMS = "//command_line_option:platforms"

def _runtime_impl(settings, attr):
    if not attr.platform:
        return {_PLATFORMS: settings[_PLATFORMS]}
    return {_PLATFORMS: [str(attr.platform)]}

# Builds what a target links for its attribute `platform`. The target itself and its programs stay as they are, so that
# programs are lowered once for all that use them.
runtime_platform = transition(
    implementation = _runtime_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)
