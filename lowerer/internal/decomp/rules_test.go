package decomp

import (
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// TestRulesNameKnownOperators checks that every rule parses and that what it calls exists.
func TestRulesNameKnownOperators(t *testing.T) {
	rules, err := loadRules()
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range rules {
		vars := map[string]bool{}
		for _, p := range r.params {
			vars[p] = true
		}
		for _, l := range r.lets {
			checkExpr(t, name, l.value, vars)
			vars[l.name] = true
		}
		checkExpr(t, name, r.result, vars)
	}
	for name := range refined {
		if exir.LookupRow(name) == nil {
			t.Errorf("%s is refined, but has no row", name)
		}
	}
	for name := range rules {
		if exir.LookupRow(name) != nil {
			t.Errorf("%s has a row, so its rule is never used", name)
		}
	}
	for name := range funcs {
		if exir.LookupRow(name) != nil {
			t.Errorf("%s has a row, so its function is never used", name)
		}
		if exir.LookupSchema(name) == nil {
			t.Errorf("function for %s: no such operator", name)
		}
		if rules[name] != nil {
			t.Errorf("%s has a rule and a function", name)
		}
	}
}

func checkExpr(t *testing.T, rule string, x *expr, vars map[string]bool) {
	t.Helper()
	switch x.kind {
	case "name":
		if !vars[x.name] {
			t.Errorf("rule %s: unknown name %s", rule, x.name)
		}
	case "call":
		checkCall(t, rule, x)
	}
	for _, a := range x.args {
		checkExpr(t, rule, a, vars)
	}
}

func checkCall(t *testing.T, rule string, x *expr) {
	t.Helper()
	if builtins[x.name] != nil {
		return
	}
	s := exir.LookupSchema(qualified(x.name))
	if s == nil {
		t.Errorf("rule %s: no operator %s", rule, x.name)
		return
	}
	if len(x.args) > len(s.Args) {
		t.Errorf("rule %s: %d arguments for %s", rule, len(x.args), x.name)
	}
	given := map[string]bool{}
	for i, key := range x.keys {
		if key == "" {
			key = s.Args[min(i, len(s.Args)-1)].Name
		}
		given[key] = true
		if s.Arg(key) < 0 {
			t.Errorf("rule %s: %s has no argument %s", rule, x.name, key)
		}
	}
	for _, p := range s.Args {
		if !p.HasDefault && !given[p.Name] {
			t.Errorf("rule %s: %s lacks argument %s", rule, x.name, p.Name)
		}
	}
}
