package side

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/bench/table"
	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// Setup is where, when and with what was measured.
type Setup struct {
	Machine  string            `json:"machine"`
	Date     string            `json:"date"`
	Versions map[string]string `json:"versions"`
	Rounds   int               `json:"rounds"`
	// Load is the load average at the end.
	Load string `json:"load_average"`
}

// NewSetup describes this machine now, after measurements of so many rounds.
func (k *Kit) NewSetup(rounds int) Setup {
	s := Setup{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly), Rounds: rounds, Load: table.LoadAverage(),
		Versions: map[string]string{"go": runtime.Version()}}
	if rev, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		s.Versions["rules_pte"] = string(bytes.TrimSpace(rev))
	}
	versions(s.Versions, k.Python, "executorch", "torch", "onnxruntime", "onnxscript")
	versions(s.Versions, k.LiteRT, "ai-edge-litert", "litert-torch")
	return s
}

// versions adds those of the packages that the interpreter has; "" has none.
func versions(to map[string]string, python string, packages ...string) {
	for _, name := range packages {
		out, err := exec.Command(python, "-c", "import importlib.metadata as m; print(m.version('"+name+"'))").Output()
		if err == nil {
			to[name] = string(bytes.TrimSpace(out))
		}
	}
}

// quiet is a load average that sides of two threads reach alone.
const quiet = 2.5

// Text is the setup in two lines, below what was done.
func (s *Setup) Text() string {
	var versions []string
	for _, name := range sortedKeys(s.Versions) {
		versions = append(versions, name+" "+s.Versions[name])
	}
	busy := ""
	if load, err := strconv.ParseFloat(s.Load, 64); err == nil && load > quiet {
		busy = ": other programs ran at the same time"
	}
	return fmt.Sprintf("%s, the sides one after the other, on %s.\nThe load average was %s at the end, on %s%s. Versions: %s.\n",
		turns(s.Rounds), s.Machine, s.Load, s.Date, busy, strings.Join(versions, ", "))
}

func turns(n int) string {
	if n == 1 {
		return "1 turn"
	}
	return strconv.Itoa(n) + " turns"
}

// machine is the processor's name, the number of cores, the system, and the instruction set that kernels use.
func machine() string {
	name := runtime.GOARCH
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			name = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", name, runtime.NumCPU(), runtime.GOOS, kernel.Best())
}
