//! Instructions of BPF, with jumps to named places.

use super::kernel::Instruction;

/// A register: r0 has results, r1 to r5 have arguments and do not survive calls, r6 to r9 do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Register(u8);

pub(super) const R0: Register = Register(0);
pub(super) const R1: Register = Register(1);
pub(super) const R2: Register = Register(2);
pub(super) const R3: Register = Register(3);
pub(super) const R4: Register = Register(4);
pub(super) const R6: Register = Register(6);
/// The end of the stack, which grows downwards.
pub(super) const FRAME: Register = Register(10);

/// A function of the kernel, by its number in `include/uapi/linux/bpf.h`. None of these is
/// restricted to programs under the GPL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    CurrentProcessAndThread = 14,
}

/// Writes a program from its first instruction to its last.
#[derive(Debug, Default)]
pub(super) struct Assembler<Place> {
    code: Vec<Instruction>,
    /// Instructions that jump, with their targets.
    jumps: Vec<(usize, Place)>,
    places: Vec<(Place, usize)>,
}

impl<Place: PartialEq> Assembler<Place> {
    pub(super) fn new() -> Assembler<Place> {
        Assembler {
            code: Vec::new(),
            jumps: Vec::new(),
            places: Vec::new(),
        }
    }

    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.push(ALU64 | MOV | FROM_REGISTER, to, from, 0, 0);
    }

    pub(super) fn set(&mut self, to: Register, value: i32) {
        self.push(ALU64 | MOV, to, R0, 0, value);
    }

    pub(super) fn add(&mut self, to: Register, value: i32) {
        self.push(ALU64 | ADD, to, R0, 0, value);
    }

    pub(super) fn shift_right(&mut self, of: Register, bits: i32) {
        self.push(ALU64 | SHIFT_RIGHT, of, R0, 0, bits);
    }

    /// Loads 64 bits from the address in `from`, plus an offset.
    pub(super) fn load(&mut self, to: Register, from: Register, offset: i16) {
        self.push(LOAD_DOUBLE, to, from, offset, 0);
    }

    /// Stores the lower 32 bits of a register on the stack.
    pub(super) fn store_word(&mut self, offset: i16, from: Register) {
        self.push(STORE_WORD, FRAME, from, offset, 0);
    }

    /// Stores a constant in 64 bits of the stack.
    pub(super) fn store_constant(&mut self, offset: i16, value: i32) {
        self.push(STORE_CONSTANT, FRAME, R0, offset, value);
    }

    /// Sets a register to the address of something on the stack.
    pub(super) fn address(&mut self, to: Register, offset: i32) {
        self.copy(to, FRAME);
        self.add(to, offset);
    }

    /// Sets a register to a map, by its descriptor.
    pub(super) fn map(&mut self, to: Register, descriptor: i32) {
        self.push(LOAD_CONSTANT, to, MAP_BY_DESCRIPTOR, 0, descriptor);
        // Its upper 32 bits are an instruction of their own.
        self.push(0, R0, R0, 0, 0);
    }

    pub(super) fn call(&mut self, helper: Helper) {
        self.push(CALL, R0, R0, 0, helper as i32);
    }

    /// Adds a register to 64 bits of memory, which other CPUs may change too.
    pub(super) fn add_atomically(&mut self, to_address_in: Register, value: Register) {
        self.push(ATOMIC_DOUBLE, to_address_in, value, 0, ATOMIC_ADD);
    }

    pub(super) fn jump_if_equal(&mut self, register: Register, value: i32, to: Place) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP_IF_EQUAL, register, R0, 0, value);
    }

    pub(super) fn jump_if_different(&mut self, register: Register, value: i32, to: Place) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP_IF_DIFFERENT, register, R0, 0, value);
    }

    /// Names the place of the next instruction.
    pub(super) fn place(&mut self, place: Place) {
        self.places.push((place, self.code.len()));
    }

    pub(super) fn exit(&mut self) {
        self.push(EXIT, R0, R0, 0, 0);
    }

    /// The program; `None` if it jumps to a place that it does not have.
    pub(super) fn finish(mut self) -> Option<Vec<Instruction>> {
        for (jump, to) in &self.jumps {
            let (_, target) = self.places.iter().find(|(place, _)| place == to)?;
            let next = i64::try_from(jump + 1).ok()?;
            let distance = i64::try_from(*target).ok()? - next;
            self.code[*jump].offset = i16::try_from(distance).ok()?;
        }
        Some(self.code)
    }

    fn push(
        &mut self,
        operation: u8,
        Register(destination): Register,
        Register(source): Register,
        offset: i16,
        constant: i32,
    ) {
        self.code.push(Instruction {
            operation,
            registers: register_bits(destination, source),
            offset,
            constant,
        });
    }
}

/// Two fields of four bits, which C lays out by the machine's byte order.
fn register_bits(destination: u8, source: u8) -> u8 {
    if cfg!(target_endian = "little") {
        source << 4 | destination
    } else {
        destination << 4 | source
    }
}

// Classes, sources and operations: Documentation/bpf/standardization/instruction-set.rst.
const ALU64: u8 = 0x07;
const FROM_REGISTER: u8 = 0x08;
const ADD: u8 = 0x00;
const SHIFT_RIGHT: u8 = 0x70;
const MOV: u8 = 0xb0;
const LOAD_DOUBLE: u8 = 0x79;
const LOAD_CONSTANT: u8 = 0x18;
const STORE_WORD: u8 = 0x63;
const STORE_CONSTANT: u8 = 0x7a;
const ATOMIC_DOUBLE: u8 = 0xdb;
const ATOMIC_ADD: i32 = 0;
const JUMP_IF_EQUAL: u8 = 0x15;
const JUMP_IF_DIFFERENT: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// In the place of a source register: the constant is the descriptor of a map.
const MAP_BY_DESCRIPTOR: Register = Register(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_count_instructions_from_the_next_one() {
        // Method: a jump forwards over a map, which takes two instructions, and one back.
        let mut program = Assembler::new();
        program.place("begin");
        program.jump_if_equal(R0, 7, "end");
        program.map(R1, 3);
        program.jump_if_different(R0, 0, "begin");
        program.place("end");
        program.exit();
        let offsets: Vec<i16> = program
            .finish()
            .unwrap()
            .iter()
            .map(|instruction| instruction.offset)
            .collect();
        assert_eq!(offsets, [3, 0, 0, -4, 0]);
    }

    #[test]
    fn a_program_that_jumps_to_an_unknown_place_is_refused() {
        // Method: a jump to a place that is never named.
        let mut program = Assembler::new();
        program.jump_if_equal(R0, 0, "nowhere");
        assert!(program.finish().is_none());
    }
}
