#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tools/schema.pl WHAT HEADER... - what the headers of the format say, for programs. The headers are include/uapi/cryo/format*.h.
#
#   --sections    CRYO_SECTION(TYPE, name) for each section that has a parser, for tools/context/staging.h and reader.cc
#   --tables      tables of sections, structures, fields and values, for tools/context/schema.cc
#   --markdown    the table in doc/format.md
#   --dictionary  of libFuzzer
#   --list        TYPE REMARKS, a line for each section
#
# What it understands is in a comment in format.h. What it does not understand ends in an error with file and line.
use strict;
use warnings;

my %width = (__u8 => 1, __u16 => 2, __u32 => 4, __s32 => 4, __u64 => 8, __s64 => 8);
my (@constants, @structs, %structs, @sections);
my ($block, $file) = (0, '');

sub refuse { my ($text, $line) = @_; die "$file:" . ($line // $.) . ": $text\n"; }

# --- reading

# The lines of a file, comments that continue joined with the line that they begin on: [number, code, comment].
sub lines_of {
	my ($name) = @_;
	$file = $name;
	open my $in, '<', $name or die "$name: $!\n";
	my (@lines, $open);
	while (my $line = <$in>) {
		chomp $line;
		if ($open) {
			$line =~ s/^\s*\*?(?!\/)\s?//;
			$open->[2] .= ' ' . ($line =~ s{\s*\*/\s*$}{}r);
			$open = undef if $line =~ m{\*/};
			next;
		}
		my ($code, $comment) = $line =~ m{^(.*?)\s*(?:/\*\s*(.*))?$};
		if (defined $comment && $comment !~ s{\s*\*/$}{}) {
			refuse('code after a comment') if $comment =~ m{\*/};
			push @lines, $open = [$., $code, $comment];
			next;
		}
		push @lines, [$., $code, $comment];
	}
	refuse('a comment has no end') if $open;
	return @lines;
}

sub read_constant {
	my ($line, $name, $value) = @_;
	$value =~ s/\s+$//;
	my $form = $value =~ /^\(1U(?:LL)? << \d+\)$/ ? 'flag' : $value =~ /^\d+$/ ? 'number' : 'other';
	push @constants, { name => $name, form => $form, block => $block, file => $file, line => $line };
}

# One line of a structure: several fields of one type.
sub read_fields {
	my ($number, $code, $comment) = @{$_[0]};
	my ($type, $names) = $code =~ /^\s+(__[us]\d+|struct cryo_\w+)\s+([^;{}]+);$/ or refuse("no field of the format: $code", $number);
	my ($nested) = $type =~ /^struct (\w+)/;
	refuse("$type is not known here", $number) unless $nested ? $structs{$nested} : $width{$type};
	my @fields;
	for my $name (split /,\s*/, $names) {
		refuse("no field: $name", $number) unless $name =~ /^(\w+)(\[.+\])?$/;
		push @fields, { name => $1, array => defined $2, type => $type, nested => $nested, comment => $comment // '',
			file => $file, line => $number };
	}
	return @fields;
}

sub add_struct {
	my ($struct) = @_;
	refuse("struct $struct->{name} is there twice", $struct->{line}) if $structs{$struct->{name}};
	push @structs, $structs{$struct->{name}} = $struct;
}

# From behind the line that opens it; the last field of an inner one is of a structure that has its name.
sub read_struct {
	my ($name, $spelling, $lines, $line) = @_;
	my $struct = { name => $name, spelling => $spelling, fields => [], file => $file, line => $line };
	while (my $next = shift @$lines) {
		my ($number, $code, $comment) = @$next;
		next if $code =~ /^\s*$/;
		if ($code =~ /^\s*\}(?: (\w+))?;$/) {
			return ($struct, $1);
		} elsif ($code =~ /^\s+struct \{$/) {
			my ($inner, $field) = read_struct('', '', $lines, $number);
			refuse('the inner structure has no name', $number) unless defined $field;
			$inner->{name} = "${name}_$field";
			$inner->{spelling} = "decltype(${name}::$field)";
			add_struct($inner);
			push @{$struct->{fields}}, { name => $field, type => 'struct', nested => $inner->{name}, comment => '', file => $file, line => $number };
		} else {
			push @{$struct->{fields}}, read_fields($next);
		}
	}
	refuse("struct $name has no end", $line);
}

# [struct S | u32 | u64 | text] [NAME] [[COUNT]]
sub read_part {
	my ($text, $line) = @_;
	my ($type, $name, $count) = $text =~ /^(struct cryo_\w+|u32|u64|text)?\s*([\w-]+)?(?:\[([^\]]+)\])?$/
		or refuse("no part of a tail: $text", $line);
	$type //= 'bytes';
	$name //= '';
	if ($type =~ /^struct cryo_(\w+)/) {
		refuse("a structure that has a name: $text", $line) if $name ne '';
		$name = $1;
	}
	refuse("a part of a tail has no name: $text", $line) if $name eq '';
	my ($unit, $field) = (1, '');
	($unit, $field) = $count =~ /^(?:(\w+) \* )?(\w+)$/ or refuse("no count: [$count]", $line) if defined $count;
	return { type => $type, name => $name =~ s/\W/_/gr, text => $text, unit => $unit // 1, count => $field };
}

sub read_section {
	my ($number, $code, $comment) = @{$_[0]};
	my ($type, $value) = $code =~ /^\tCRYO_SEC_(\w+)\s*= (\d+),$/ or refuse("no section: $code", $number);
	refuse("section $type has no comment", $number) unless defined $comment;
	my ($head, $remarks) = $comment =~ /^((?:(?!\. ).)*)(?:\. (.*))?$/;
	my ($object, $struct, $repeated, $tail) = $head =~ /^object: ([^;]+)(?:; struct (\w+))?(?:; tail(, repeated)?: (.+))?$/
		or refuse("section $type: the comment is not \"object: WHAT[; struct S][; tail[, repeated]: PARTS][. Remarks]\"", $number);
	my %section = (type => $type, value => $value, object => $object, struct => $struct, repeated => defined $repeated, tail => $tail // '',
		parts => [map { read_part($_, $number) } split /, /, $tail // ''], remarks => $remarks // '', file => $file, line => $number);
	for my $other (@sections) {
		refuse("$type has the name or number of $other->{type}", $number) if $other->{type} eq $type || $other->{value} == $value;
	}
	refuse("$type: what is repeated begins with a structure", $number) if $repeated && $section{parts}[0]{type} !~ /^struct/;
	$section{required} = $section{remarks} !~ /Not required/;
	$section{layout} = $section{remarks} =~ /Layout/;
	$section{in_file} = $section{remarks} !~ /In no file/;
	push @sections, \%section;
}

sub read_header {
	my @lines = lines_of($_[0]);
	while (my $next = shift @lines) {
		my ($number, $code, $comment) = @$next;
		# An initializer, over several lines.
		if ($code =~ /^#define\s+CRYO_\w+\s+\{.*\\$/) {
			1 while @lines && (shift @lines)->[1] =~ /\\$/;
			next;
		}
		if ($code =~ /^#define\s+(CRYO_\w+)\s+(.+)$/) {
			read_constant($number, $1, $2);
			next;
		}
		$block++;
		if ($code =~ /^struct (cryo_\w+) \{$/) {
			my ($struct) = read_struct($1, $1, \@lines, $number);
			add_struct($struct);
		} elsif ($code eq 'enum cryo_section_type {') {
			while ($next = shift @lines) {
				last if $next->[1] eq '};';
				read_section($next) if $next->[1] ne '';
			}
			refuse('enum cryo_section_type has no end') unless $next;
		} elsif ($code !~ /^\s*$|^#(?:ifndef|define|include|endif)\b/) {
			refuse("not understood: $code", $number);
		}
	}
}

# --- what belongs together

# The constants that a field's comment names: CRYO_X_*, all of them in one block of lines; or CRYO_X_A ..., from that one to the end of its block.
sub values_of {
	my ($field) = @_;
	my @found;
	if ($field->{comment} =~ /^(CRYO_\w+_)\*/) {
		my $prefix = $1;
		return () if $prefix eq 'CRYO_SEC_';
		@found = grep { $_->{name} =~ /^\Q$prefix\E/ } @constants;
		my %blocks = map { $_->{block} => 1 } @found;
		if (keys %blocks > 1) {
			$file = $field->{file};
			refuse("$prefix* is in several places: name the first one, \"$found[0]{name} ...\"", $field->{line});
		}
	} elsif ($field->{comment} =~ /^(CRYO_\w+) \.\.\./) {
		my ($first) = grep { $_->{name} eq $1 } @constants;
		@found = grep { $_->{block} == $first->{block} && $_->{line} >= $first->{line} } @constants if $first;
	} else {
		return ();
	}
	$file = $field->{file};
	refuse("no constant is found: $field->{comment}", $field->{line}) unless @found;
	my %forms = map { $_->{form} => 1 } @found;
	refuse("neither flags (1U << N) nor numbers: " . join(' ', map { $_->{name} } @found), $field->{line}) if keys %forms > 1 || $forms{other};
	return @found;
}

sub prefix_of {
	my ($prefix, @others) = map { $_->{name} } @_;
	$prefix =~ s/[^_]*$//;
	for my $name (@others) {
		$prefix =~ s/[^_]*_$// until index($name, $prefix) == 0;
	}
	return $prefix;
}

sub check_sections {
	refuse('no section is found') unless @sections;
	for my $section (@sections) {
		$file = $section->{file};
		my $fixed = defined $section->{struct} ? $structs{$section->{struct}} : { fields => [] };
		refuse("$section->{type}: no struct $section->{struct}", $section->{line}) unless $fixed;
		my $counts = $fixed;
		for my $part (@{$section->{parts}}) {
			my ($name) = $part->{type} =~ /^struct (\w+)/;
			refuse("$section->{type}: no struct $name", $section->{line}) if defined $name && !$structs{$name};
			$counts = $structs{$name} if $section->{repeated} && defined $name;
			refuse("$section->{type}: no field $part->{count}", $section->{line})
				if $part->{count} ne '' && !grep { $_->{name} eq $part->{count} } @{$counts->{fields}};
		}
	}
}

# --- writing

sub field_kind {
	my ($field) = @_;
	return 'kStruct' if $field->{nested};
	return 'kReserved' if $field->{name} =~ /^reserved\d*$/;
	return $field->{comment} =~ /NUL-padded/ ? 'kText' : 'kBytes' if $field->{type} eq '__u8' && $field->{array};
	return $field->{type} =~ /^__s/ ? 'kSigned' : 'kUnsigned';
}

my %written;
sub write_values {
	my (@values) = @_;
	return '{}, false' unless @values;
	my $prefix = prefix_of(@values);
	my $table = "kValues$values[0]{name}";
	if (!$written{$table}++) {
		print "constexpr SchemaValue ${table}\[] = {\n";
		printf "    {\"%s\", %s},\n", substr($_->{name}, length $prefix), $_->{name} for @values;
		print "};\n";
	}
	return sprintf '%s, %s', $table, $values[0]{form} eq 'flag' ? 'true' : 'false';
}

sub write_struct {
	my ($struct) = @_;
	my ($name, $spelling) = @$struct{qw(name spelling)};
	my @values = map { write_values(values_of($_)) } @{$struct->{fields}};
	print "using Type_$name = $spelling;\n";
	print "constexpr SchemaField kFields_${name}\[] = {\n";
	for my $field (@{$struct->{fields}}) {
		my $member = "Type_${name}::$field->{name}";
		my $nested = $field->{nested} ? "&kStruct_$field->{nested}" : 'nullptr';
		printf "    {\"%s\", SchemaKind::%s, offsetof(Type_%s, %s), sizeof(%s), %s, %s, %s},\n", $field->{name}, field_kind($field), $name,
			$field->{name}, $member, $width{$field->{type}} // "sizeof($member)", $nested, shift @values;
	}
	print "};\n";
	print "static_assert(fills(kFields_$name, sizeof(Type_$name)), \"tools/schema.pl lacks a field of $name\");\n";
	print "constexpr SchemaStruct kStruct_$name = {\"$name\", sizeof(Type_$name), kFields_$name};\n\n";
}

sub write_tail {
	my ($section) = @_;
	print "constexpr SchemaPart kTail_$section->{type}\[] = {\n";
	for my $part (@{$section->{parts}}) {
		my ($name) = $part->{type} =~ /^struct (\w+)/;
		my %kinds = (bytes => 'kBytes', text => 'kText', u32 => 'kUnsigned', u64 => 'kUnsigned');
		my $size = $name ? "sizeof($name)" : $part->{type} =~ /^u(\d+)/ ? $1 / 8 : $part->{unit};
		printf "    {\"%s\", SchemaKind::%s, %s, %s, \"%s\"},\n", $part->{name}, $name ? 'kStruct' : $kinds{$part->{type}}, $size,
			$name ? "&kStruct_$name" : 'nullptr', $part->{count};
	}
	print "};\n";
}

sub write_tables {
	print "// Made by tools/schema.pl from include/uapi/cryo/format*.h.\n\n";
	write_struct($_) for @structs;
	for my $section (@sections) {
		write_tail($section) if @{$section->{parts}};
	}
	print "constexpr SchemaSection kSections[] = {\n";
	for my $section (sort { $a->{value} <=> $b->{value} } @sections) {
		printf "    {%s, \"%s\", %s, %s, %s, %s, %s, %s},\n", "CRYO_SEC_$section->{type}", $section->{type},
			defined $section->{struct} ? "&kStruct_$section->{struct}" : 'nullptr', @{$section->{parts}} ? "kTail_$section->{type}" : '{}',
			map { $_ ? 'true' : 'false' } @$section{qw(repeated required in_file layout)};
	}
	print "};\n";
}

sub write_sections {
	print "// Made by tools/schema.pl from include/uapi/cryo/format*.h.\n";
	for my $section (@sections) {
		printf "CRYO_SECTION(%s, %s)\n", $section->{type}, lc $section->{type} unless $section->{layout} || !$section->{in_file};
	}
}

sub write_markdown {
	print "| number | section | object | structure | tail | |\n|---|---|---|---|---|---|\n";
	for my $section (sort { $a->{value} <=> $b->{value} } @sections) {
		my $remarks = $section->{remarks} =~ s/(?:^|\. )Layout//r;
		printf "| %s | %s | %s | %s | %s | %s |\n", $section->{value}, $section->{type}, $section->{object},
			defined $section->{struct} ? "`$section->{struct}`" : '', $section->{tail} eq '' ? ''
			: '`' . $section->{tail} . '`' . ($section->{repeated} ? ', repeated' : ''), $remarks =~ s/</&lt;/gr;
	}
}

sub write_dictionary {
	for my $section (@sections) {
		printf "section_%s=\"\\x%02x\\x%02x\"\n", lc $section->{type}, $section->{value} & 255, $section->{value} >> 8;
	}
}

my ($what, @headers) = @ARGV;
my %writers = ('--sections' => \&write_sections, '--tables' => \&write_tables, '--markdown' => \&write_markdown,
	'--dictionary' => \&write_dictionary, '--list' => sub { print "$_->{type} $_->{remarks}\n" for @sections });
die "usage: tools/schema.pl --sections | --tables | --markdown | --dictionary | --list HEADER...\n" unless @headers && $writers{$what // ''};
# What others are made of is in the first ones.
for my $header (@headers) { read_header($header) }
check_sections();
$writers{$what}->();
