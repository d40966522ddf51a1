package initc

import (
	"bytes"
	"debug/elf"
	"slices"
	"testing"
)

const limit = 64 << 10 // bytes; each supervisor writes it into a tmpfs before all else

// TestProgram: it needs nothing of the root filesystem that it runs in, and nothing of it can be written and executed.
func TestProgram(t *testing.T) {
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	if len(program) >= limit {
		t.Errorf("%d bytes, the limit is %d", len(program), limit)
	}
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if file.Type != elf.ET_EXEC {
		t.Errorf("it is %v: nobody relocates it", file.Type)
	}
	stack := false
	for _, p := range file.Progs {
		if slices.Contains([]elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC, elf.PT_TLS}, p.Type) {
			t.Errorf("it has %v", p.Type)
		}
		stack = stack || p.Type == elf.PT_GNU_STACK
		if p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
			t.Errorf("%v is %v", p.Type, p.Flags)
		}
	}
	if !stack {
		t.Error("without PT_GNU_STACK the kernel makes the stack executable (elf(5))")
	}
}
