"""What differs between the versions of Bazel."""

# The configuration of tools. In Bazel 4.2.3 "exec" keeps the hash of the
# transitions above it, so that every platform would build every tool again;
# from Bazel 7 on "host" is an error.
TOOL_CFG = "exec" if hasattr(native, "module_name") else "host"
