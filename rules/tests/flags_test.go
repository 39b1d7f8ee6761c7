package tests

import (
	"strings"
	"testing"
)

// futureFlags are the flags that Bazel 8 and 9 have on for good, as far as they say something about rules and BUILD files.
// Those that break Bazel 4's own tools are not among them.
var futureFlags = []string{
	"always_check_depset_elements", "depset_for_libraries_to_link_getter", "disable_depset_items", "disable_target_provider_fields",
	"disallow_empty_glob", "disallow_struct_provider_syntax", "enforce_config_setting_visibility", "new_actions_api",
	"no_implicit_file_export", "no_rule_outputs_param", "require_linker_input_cc_api", "restrict_string_escapes",
	"run_shell_command_string", "struct_has_no_methods", "top_level_aspects_require_providers", "use_toolchain_transition",
	"visibility_private_attributes_at_definition",
}

// TestFutureFlags analyses a workspace with all of these that the machine's Bazel has.
func TestFutureFlags(t *testing.T) {
	w := backendsWorkspace(t)
	help, err := w.bazel("help", "--long", "build")
	if err != nil {
		t.Fatalf("help: %v\n%s", err, help)
	}
	args := []string{"build", "--nobuild"}
	for _, f := range futureFlags {
		if strings.Contains(help, "[no]incompatible_"+f+" ") {
			args = append(args, "--incompatible_"+f)
		}
	}
	if len(args) < 8 {
		t.Fatalf("only %q", args)
	}
	if out, err := w.bazel(append(args, "//:npu", "//:demo", "//:demo_go", "//checks:all")...); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
}
