package pte

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/passes"
	"github.com/rules-pte/rules_pte/runtime/op"
)

func runExplain(e *env, args []string) error {
	rest, err := newFlags().parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("want one code, such as PTE1002")
	}
	code := strings.ToUpper(rest[0])
	if !strings.HasPrefix(code, "PTE") {
		code = "PTE" + code
	}
	page, ok := diag.Explain(diag.Code(code))
	if !ok {
		var codes []string
		for _, c := range diag.Codes() {
			codes = append(codes, string(c))
		}
		return usageError(fmt.Sprintf("no error code %q; there are %s", rest[0], strings.Join(codes, " ")))
	}
	_, err = io.WriteString(e.stdout, page)
	return err
}

// versionInfo is what "version" prints.
type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// Backends are the ids of what is linked in.
	Backends struct {
		AOT     []string `json:"aot"`
		Runtime []string `json:"runtime"`
	} `json:"backends"`
}

func runVersion(e *env, args []string) error {
	f := newFlags()
	asJSON := f.Bool("json", false, "print JSON")
	if err := parseOnlyFlags(f, args); err != nil {
		return err
	}
	v := versionInfo{Version: version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	v.Backends.AOT, v.Backends.Runtime = e.backends.ids()
	if *asJSON {
		return printJSON(e, v)
	}
	_, err := fmt.Fprintf(e.stdout, "pte %s %s %s/%s\n", v.Version, v.Go, v.OS, v.Arch)
	return err
}

// version is the tool's version, "(devel)" if its build did not say.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func runMod(e *env, args []string) error {
	args, err := newFlags().parse(args)
	if err != nil {
		return err
	}
	if len(args) == 0 || len(args) > 2 || args[0] != "init" {
		return usageError("want init")
	}
	dir := "."
	if len(args) == 2 {
		dir = args[1]
	}
	return config.InitModule(dir, e.backends.AOT)
}

// passRow is a pass as --json prints it.
type passRow struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional"`
	Doc      string `json:"doc"`
}

func runPasses(e *env, args []string) error {
	f := newFlags()
	asJSON := f.Bool("json", false, "print JSON")
	if err := parseOnlyFlags(f, args); err != nil {
		return err
	}
	var rows []passRow
	for _, p := range passes.Table {
		rows = append(rows, passRow{p.Name, p.Optional, p.Doc})
	}
	if *asJSON {
		return printJSON(e, rows)
	}
	for _, r := range rows {
		fmt.Fprintf(e.stdout, "%-24s %-8s %s\n", r.Name, map[bool]string{true: "optional"}[r.Optional], r.Doc)
	}
	return nil
}

// opRow is an operator as --json prints it.
type opRow struct {
	Name   string   `json:"name"`
	Schema string   `json:"schema"`
	DTypes []string `json:"dtypes"`
}

func runOps(e *env, args []string) error {
	f := newFlags()
	asJSON := f.Bool("json", false, "print JSON")
	markdown := f.Bool("markdown", false, "print a page of all overloads, refused ones too")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if *markdown {
		return writeOps(e.stdout)
	}
	// The overload "default" has no name in a row.
	rows := opRows(strings.TrimSuffix(strings.ReplaceAll(strings.Join(rest, " "), "::", "."), ".default"))
	if len(rows) == 0 {
		return unknownOp(rest[0])
	}
	if *asJSON {
		return printJSON(e, rows)
	}
	for _, r := range rows {
		fmt.Fprintf(e.stdout, "%-44s %s\n", r.Name, strings.Join(r.DTypes, " "))
		if len(rest) > 0 {
			fmt.Fprintf(e.stdout, "    %s\n", r.Schema)
		}
	}
	return nil
}

// unknownOp is the error for a name without a row, with the nearest one.
func unknownOp(name string) error {
	e := diag.New(diag.UnsupportedOperator, "", "no operator row named %q", name)
	full := strings.Replace(name, ".", "::", 1)
	for known, state := range opStates() {
		if _, bare, _ := strings.Cut(known, "::"); state == "rule" && (known == full || strings.HasPrefix(known, full+".") || bare == name || strings.HasPrefix(bare, name+".")) {
			return e.WithHint("it has none of its own: it lowers by a rule, to operators that have one")
		}
	}
	var names []string
	for _, r := range opRows("") {
		_, bare, _ := strings.Cut(r.Name, ".")
		if bare == name {
			return e.WithHint("did you mean %q?", r.Name)
		}
		names = append(names, r.Name, bare)
	}
	if near := diag.Nearest(name, names); near != "" {
		return e.WithHint("did you mean %q? `pte ops` lists all; others lower by decomposition", near)
	}
	return e.WithHint("`pte ops` lists all; others lower by decomposition")
}

// opRows are the rows whose name is name or begins with it and a dot, all of them for "". Rows without a functional
// operator only run, in programs of others.
func opRows(name string) (rows []opRow) {
	dtypes := map[*op.Def][]string{}
	for _, k := range op.Kernels {
		dtypes[k.Def] = append(dtypes[k.Def], k.DType.String())
	}
	for _, d := range op.Rows {
		full := strings.ReplaceAll(d.Functional, "::", ".")
		if full == "" {
			continue
		}
		if name == "" || full == name || kernelName(d.Schema) == name || strings.HasPrefix(full, name+".") || strings.HasPrefix(full, "aten."+name+".") || full == "aten."+name {
			rows = append(rows, opRow{full, d.Schema, dtypes[d]})
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
	return slices.CompactFunc(rows, func(a, b opRow) bool { return a.Schema == b.Schema })
}

// kernelName is the name of a schema as pte inspect prints it, with a dot for the colons.
func kernelName(schema string) string {
	name, _, _ := strings.Cut(schema, "(")
	return strings.ReplaceAll(name, "::", ".")
}

func printJSON(e *env, v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// progress says on a terminal what goes on once it has taken a second; the result stops it.
func progress(e *env, what string) (stop func()) {
	f, ok := e.stderr.(*os.File)
	if !ok {
		return func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				fmt.Fprint(f, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(f, "\r%s … %ds", what, int(time.Since(start).Seconds()))
			}
		}
	}()
	return func() { close(done); <-stopped }
}
