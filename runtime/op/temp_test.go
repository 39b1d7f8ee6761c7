package op

import (
	"errors"
	"testing"
	"unsafe"
)

// alloc is t.Alloc(n), all of it written with fill.
func alloc(t *testing.T, temp *Temp, n int, fill byte) []byte {
	t.Helper()
	b, err := temp.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != n || n > 0 && uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
		t.Fatalf("got %d bytes at %p, want %d at a multiple of 64", len(b), unsafe.SliceData(b), n)
	}
	for i := range b {
		b[i] = fill
	}
	return b
}

// holds checks that nobody has written to b since alloc.
func holds(t *testing.T, b []byte, fill byte) {
	t.Helper()
	for i, x := range b {
		if x != fill {
			t.Fatalf("byte %d of what was filled with %d is %d", i, fill, x)
		}
	}
}

// TestTempHold takes temporaries in rounds while others are held, before there is memory for them and after.
func TestTempHold(t *testing.T) {
	var temp Temp
	for call := range 3 {
		temp.Reset()
		held := alloc(t, &temp, 100, 1)
		temp.Hold()
		for round := range byte(3) {
			temp.Reset()
			a, b := alloc(t, &temp, 1000, 10+round), alloc(t, &temp, 70, 20+round)
			holds(t, a, 10+round)
			holds(t, b, 20+round)
			holds(t, held, 1)
		}
		temp.Release()
		if want := 128 + 1024 + 128; call > 0 && temp.Held() != want {
			t.Errorf("call %d: %d bytes are kept, want %d", call, temp.Held(), want)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		temp.Reset()
		_, _ = temp.Alloc(100)
		temp.Hold()
		for range 3 {
			temp.Reset()
			_, _ = temp.Alloc(1000)
			_, _ = temp.Alloc(70)
		}
		temp.Release()
	}); n != 0 {
		t.Errorf("%v allocations in steady state", n)
	}
}

// TestTempOne takes one temporary a round, for which there are never two pieces of memory.
func TestTempOne(t *testing.T) {
	var temp Temp
	first := alloc(t, &temp, 1<<20, 1)
	temp.Reset()
	if again := alloc(t, &temp, 1<<20, 2); &again[0] != &first[0] {
		t.Error("the second round has other memory")
	}
}

// TestTempLimit counts what is held against the limit.
func TestTempLimit(t *testing.T) {
	temp := Temp{Limit: 256}
	alloc(t, &temp, 128, 1)
	temp.Hold()
	temp.Reset()
	alloc(t, &temp, 128, 2)
	if _, err := temp.Alloc(1); !errors.Is(err, ErrTemp) {
		t.Errorf("got %v, want %v", err, ErrTemp)
	}
}

// TestTempHoldMore holds more in the middle of a round.
func TestTempHoldMore(t *testing.T) {
	temp := Temp{Limit: 1024}
	for range 2 {
		temp.Reset()
		base := alloc(t, &temp, 64, 1)
		temp.Hold()
		temp.Reset()
		inner := alloc(t, &temp, 64, 2)
		temp.Hold()
		temp.Reset()
		alloc(t, &temp, 800, 3)
		holds(t, base, 1)
		holds(t, inner, 2)
		if _, err := temp.Alloc(128); !errors.Is(err, ErrTemp) {
			t.Errorf("got %v, want %v", err, ErrTemp)
		}
		temp.Release()
	}
}

// TestTempKept keeps no more than the limit, although rounds and those while something is held need as much as it each.
func TestTempKept(t *testing.T) {
	temp := Temp{Limit: 1024}
	within := func(when string) {
		if temp.Held() > temp.Limit {
			t.Errorf("%s: %d bytes are kept, the limit is %d", when, temp.Held(), temp.Limit)
		}
	}
	for range 2 {
		temp.Reset()
		alloc(t, &temp, 64, 1)
		temp.Hold()
		temp.Reset()
		alloc(t, &temp, 960, 2)
		temp.Release()
		within("after Release")
		temp.Reset()
		alloc(t, &temp, 1024, 3)
		within("after a large round")
		temp.Reset()
		within("after Reset")
	}
}

// TestTempKeptLater counts what the next round of those while something is held keeps.
func TestTempKeptLater(t *testing.T) {
	temp := Temp{Limit: 1024}
	alloc(t, &temp, 64, 1)
	temp.Hold()
	temp.Reset()
	alloc(t, &temp, 448, 2)
	alloc(t, &temp, 512, 3)
	temp.Release()
	temp.Reset()
	alloc(t, &temp, 512, 4)
	temp.Hold()
	temp.Reset()
	if temp.Held() > temp.Limit {
		t.Errorf("%d bytes are kept, the limit is %d", temp.Held(), temp.Limit)
	}
}

// TestTempMake lets somebody else make temporaries, but not those while something is held.
func TestTempMake(t *testing.T) {
	made := 0
	temp := Temp{Make: func(n int) []byte { made += n; return AlignedBytes(n) }}
	alloc(t, &temp, 100, 1)
	temp.Hold()
	temp.Reset()
	alloc(t, &temp, 50, 2)
	temp.Release()
	if made != 100 {
		t.Errorf("%d bytes were made, want 100", made)
	}
}

// TestTempExpect has what is expected from the first round on, in one piece, unless it is beyond the limit or not kept.
func TestTempExpect(t *testing.T) {
	for name, c := range map[string]struct {
		temp Temp
		want int // bytes that are kept after the first round
	}{
		"no limit": {Temp{}, 1024},
		"limit":    {Temp{Limit: 1024}, 1024},
		"beyond":   {Temp{Limit: 999}, 128},
		"made":     {Temp{Make: func(n int) []byte { return make([]byte, n) }}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.temp.Expect(1000)
			c.temp.Expect(10)
			c.temp.Reset()
			if _, err := c.temp.Alloc(100); err != nil {
				t.Fatal(err)
			}
			if n := c.temp.Held(); n != c.want {
				t.Errorf("%d bytes are kept, want %d", n, c.want)
			}
		})
	}
}
