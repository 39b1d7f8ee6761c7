package runcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/executor/weightcache"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

// codes maps ExecuTorch's codes to ours and to what can be done; those that are not here mean a damaged program.
var codes = map[pte.Code]struct {
	code diag.Code
	hint string
}{
	pte.InvalidArgument:        {diag.RunInputs, ""},
	pte.InvalidType:            {diag.RunInputs, ""},
	pte.OperatorMissing:        {diag.NotRunnable, "use a runtime with these kernels: pte_runtime(programs = [...]) makes one, and `pte ops` lists those of this tool"},
	pte.NotFound:               {diag.NotRunnable, "lower the model without the backend, or use a runtime that has it: pte_runtime(backends = [...])"},
	pte.MemoryAllocationFailed: {diag.ProgramLimits, "--max-memory allows more, if you trust the file"},
}

const makeAgain = "the file is damaged, or not made by this version; copy it again, or lower the model again"

// fault is an error of the executor about the program at path.
func fault(path string, err error) *diag.Error {
	e := faultOf(path, err)
	if e.Code == diag.ProgramMalformed {
		switch head, ok := headOf(path); {
		case !ok:
		case bytes.HasPrefix(head, []byte("PK\x03\x04")):
			return diag.New(e.Code, path, "this is a zip archive, such as a .pt2, and no program").WithHint("`pte lower %s` makes one of it", path)
		case len(head) == 0:
			return diag.New(e.Code, path, "the file is empty").WithHint(makeAgain)
		case ptd.Is(head):
			return diag.New(e.Code, path, "this is a data file, and no program").
				WithHint("`pte run PROGRAM.pte --data %s` gives it to its program; `pte inspect` lists what it holds", path)
		case weightcache.Is(head):
			return diag.New(e.Code, path, "this is a weight cache, and no program").WithHint("`pte run PROGRAM.pte --weight-cache %s` uses it", path)
		case isText(head):
			return diag.New(e.Code, path, "this is text, and no program").WithHint("a program is a .pte; `pte lower MODEL.pt2` makes one")
		}
	}
	return e
}

// faultOf is fault for a program or a data file.
func faultOf(path string, err error) *diag.Error {
	if errors.Is(err, fs.ErrNotExist) || executor.CodeOf(err) == pte.AccessFailed {
		hint := "check the path; it counts from the folder that you stand in"
		if errors.Is(err, syscall.EISDIR) {
			hint = "name a file in it"
		}
		return diag.New(diag.FileRead, path, "%w", fileCause(err)).WithHint("%s", hint)
	}
	et := executor.CodeOf(err)
	c, known := codes[et]
	if !known {
		c.code, c.hint = diag.ProgramMalformed, makeAgain
	}
	text := strings.TrimSuffix(err.Error(), ": "+et.String())
	if strings.Contains(text, "possible infinite loop") {
		c.code, c.hint = diag.ProgramLimits, "the program jumps for ever; lower the model again"
	}
	if strings.Contains(text, "external constant") && et == pte.NotFound {
		c.hint = "give the data file that lies beside the program by --data FILE.ptd; `pte inspect` lists what one holds"
	}
	e := diag.New(c.code, path, "%s", text)
	e.Err = err
	return e.WithHint("%s", c.hint)
}

// headMost is how many bytes of a file tell what it is.
const headMost = 512

// headOf are the first bytes of a file; false if it cannot be read.
func headOf(path string) ([]byte, bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	head := make([]byte, headMost)
	n, err := io.ReadFull(f, head)
	return head[:n], err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isText reports whether the bytes are printed, in UTF-8; the last ones may be part of a rune.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		switch {
		case r == utf8.RuneError && n == 1:
			return !utf8.FullRune(head)
		case !unicode.IsPrint(r) && !unicode.IsSpace(r):
			return false
		}
		head = head[n:]
	}
	return true
}

// fileCause is the innermost error, which says what the system did not do.
func fileCause(err error) error {
	for errors.Unwrap(err) != nil && !errors.As(err, new(*fs.PathError)) {
		err = errors.Unwrap(err)
	}
	return output.Cause(err)
}

// signature is the types of the inputs: "(float32[2, 3], int)".
func signature(infos []executor.ValueInfo) string {
	if len(infos) == 0 {
		return "no inputs"
	}
	var list []string
	for _, in := range infos {
		list = append(list, inputText(&in))
	}
	return "(" + strings.Join(list, ", ") + ")"
}

var kindNames = map[executor.Kind]string{executor.None: "none", executor.Int: "int", executor.Float: "float",
	executor.Bool: "bool", executor.String: "str"}

func inputText(in *executor.ValueInfo) string {
	if in.Kind != executor.Tensor {
		return kindNames[in.Kind]
	}
	var sizes []string
	for i := range in.Sizes {
		sizes = append(sizes, sizeText(&in.Sizes[i]))
	}
	return in.Meta.DType.String() + "[" + strings.Join(sizes, ", ") + "]"
}

// sizeText is what a dimension may be: "8", "≤100", "2..100", "≥2" or what it follows from.
func sizeText(s *executor.SizeInfo) string {
	switch least, most := strconv.FormatInt(s.Least, 10), strconv.FormatInt(s.Most, 10); {
	case s.Derived != "":
		return s.Derived
	case s.Least == s.Most:
		return least
	case s.Most == math.MaxInt64 && s.Least == 0:
		return "?"
	case s.Most == math.MaxInt64:
		return "≥" + least
	case s.Least <= 1:
		return "≤" + most
	default:
		return least + ".." + most
	}
}

// readInputs reads the values of --input; the error lists all that are wrong.
func readInputs(args []string) (values []executor.Value, err error) {
	var errs diag.List
	for i, arg := range args {
		v, err := readInput(arg)
		if err != nil {
			err.Where = strings.TrimSuffix(fmt.Sprintf("input %d: %s", i, err.Where), ": ")
			errs = append(errs, err)
		}
		values = append(values, v)
	}
	return values, errs.Err()
}

func readInput(arg string) (executor.Value, *diag.Error) {
	kind, text, scalar := strings.Cut(arg, ":")
	wrong := func(want string) (executor.Value, *diag.Error) {
		return executor.Value{}, diag.New(diag.RunInputs, "", "got %q, want %s", arg, want)
	}
	switch {
	case arg == "none":
		return executor.Value{}, nil
	case scalar && kind == "int":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return executor.IntOf(n), nil
		}
		return wrong("int: and a whole number, such as int:3")
	case scalar && kind == "float":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return executor.FloatOf(f), nil
		}
		return wrong("float: and a number, such as float:0.5")
	case scalar && kind == "bool":
		if b, err := strconv.ParseBool(text); err == nil {
			return executor.BoolOf(b), nil
		}
		return wrong("bool:true or bool:false")
	case scalar && kind == "str":
		return executor.StringOf(text), nil
	}
	b, err := os.ReadFile(arg)
	if err != nil {
		return executor.Value{}, diag.New(diag.FileRead, arg, "%w", output.Cause(err)).
			WithHint("an input is FILE.npy, int:N, float:X, bool:B, str:S or none")
	}
	t, err := npy.Parse(b)
	if err != nil {
		return executor.Value{}, diag.New(diag.FileRead, arg, "%w", err).WithHint("numpy.save(%q, array) writes such a file", "x.npy")
	}
	return executor.TensorOf(t), nil
}
