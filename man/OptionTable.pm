# SPDX-License-Identifier: GPL-2.0-only
# The options of each command in its table (tools/base/option_table.h), and their entries in its manual page. This is the one
# parser of both, for man/option-tags and tests/lint/options. Paths are from the top of the tree.
package OptionTable;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(slurp commands option_rows option_headings page_of page_entries);

my %tables = (
	cr_checkpoint => 'tools/cr_checkpoint/option_table.h',
	cr_restart => 'tools/cr_restart/option_table.h',
	cr_info => 'tools/cr_info/options.cc',
	cr_merge => 'tools/cr_merge/main.cc',
	cr_run => 'tools/cr_run/main.cc',
);

sub slurp {
	my ($name) = @_;
	open my $file, '<', $name or die "$name: $!\n";
	local $/;
	return <$file>;
}

sub commands {
	return sort keys %tables;
}

sub table_text {
	my ($command) = @_;
	my $file = $tables{$command};
	my ($table) = slurp($file) =~ /^(?:inline )?constexpr OptionRow kOptionRows\[\] = \{\n(.*?)^\};/ms or die "$file: no table\n";
	return $table;
}

# The rows of a table: heading, letters, name, argument, and whether it is hidden, of each option.
sub option_rows {
	my ($command) = @_;
	my $table = table_text($command);
	my @rows;
	my $heading = '';
	while ($table =~ /^\s*heading\("([^"]*)|^\s*\{\s*"([^"]*)",\s*"([\w-]+)",\s*"([^"]*)",\s*[^,]+,\s*(kHidden\b)?/gm) {
		if (defined $1) {
			$heading = $1;
			next;
		}
		push @rows, { heading => $heading, letters => $2, name => $3, argument => $4, hidden => defined $5 };
	}
	my $all = () = $table =~ /^\s*\{/gm;
	die "$tables{$command}: of $all rows " . @rows . " are understood\n" if !@rows || @rows != $all;
	return @rows;
}

sub option_headings {
	my ($command) = @_;
	return table_text($command) =~ /^\s*heading\("([^"]*)/gm;
}

sub page_of {
	my ($command) = @_;
	return "man/$command.1";
}

# A line of man(7) as a reader sees it.
sub plain {
	my ($line) = @_;
	if ($line =~ s/^\.([BIR]+) +//) {
		my $joins = length $1 > 1;
		my @words = map { s/^"|"$//gr } $line =~ /"[^"]*"|\S+/g;
		$line = join $joins ? '' : ' ', @words;
	}
	$line =~ s/\\f[A-Z]//g;
	$line =~ s/\\[~ ]/ /g;
	$line =~ s/\\-/-/g;
	return $line;
}

# The parts of a tag: options, with what is between one and that before it, and what else it may name (FILE). The letters of an option
# are before its long name.
sub parts {
	my ($tag) = @_;
	my @parts;
	my ($letters, $before) = ('', '');
	while ($tag =~ /\G(.+?)(?:([,;]) +|$)/g) {
		my ($text, $after) = ($1, $2);
		if ($text =~ /^-([^-])/ && defined $after) {
			$letters .= $1;
			next;
		}
		my ($name, $argument) = $text =~ /^--([a-z][a-z0-9-]*)(.*)/;
		push @parts, { before => $before, letters => $letters, name => $name, argument => $argument // '', text => $text };
		$letters = '';
		$before = "$after " if defined $after;
	}
	return @parts;
}

# The headings and the tags of entries in a page's OPTIONS: heading, or line (its index), and parts.
sub page_entries {
	my ($page) = @_;
	my @lines = split /\n/, slurp($page);
	my @entries;
	my $section = '';
	for my $i (0 .. $#lines) {
		$section = $1 if $lines[$i] =~ /^\.SH +(.*)/;
		next unless $section eq 'OPTIONS';
		push @entries, { heading => $1 } if $lines[$i] =~ /^\.SS +(.*)/;
		next unless $i && $lines[$i - 1] =~ /^\.TP\b/;
		my $tag = plain($lines[$i]);
		push @entries, { line => $i, parts => [parts($tag)] } if $tag =~ /(?:^|[,;] )-/;
	}
	die "$page: no OPTIONS\n" unless @entries;
	return @entries;
}

1;
