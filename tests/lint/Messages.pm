# SPDX-License-Identifier: GPL-2.0-only
# Messages in the sources that say what is in the way of a checkpoint or of a restart.
package Messages;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(slurp joined obstacles_of_module obstacles_of_tools);
# How many messages each way of saying them has: none of one means that it has another name now.
our %ways;

sub slurp {
	my ($name) = @_;
	open my $file, '<', $name or die "$name: $!";
	local $/;
	return <$file>;
}

# Adjacent string literals as one.
sub joined {
	my ($code) = @_;
	$code =~ s/(?<!\\)"\s*(?:\\\n\s*)?"//g;
	$code =~ s/\\"/"/g;
	return $code;
}

# Adjacent C string literals as one text.
sub literal {
	my ($code) = @_;
	my $text = '';
	$text .= $1 while $code =~ /"((?:[^"\\]|\\.)*)"/g;
	$text =~ s/\\"/"/g;
	return $text;
}

my $conversion = qr/%[-#]?[0-9]*l{0,2}(?:p[a-zA-Z]|[a-zA-Z])|\{[^{}]*\}/;

# What is constant in a message: its longest part between conversions, without the object in front
# of it and the words that each refusal ends in.
sub constant_part {
	my ($format) = @_;
	my $longest = '';
	# The obstacle itself is an argument: its text is found elsewhere.
	return '' if $format =~ /%s is not supported$/;
	for my $part (split $conversion, $format) {
		$part =~ s/(,? which)? (is|are) not supported( yet)?\b.*//;
		$part =~ s/^\s*\(?\w*\)?: +//;
		$part =~ s/^[\s:;,()]+(which )?|[\s:;]+$//g;
		$part =~ s/(: state| \(| \(error)$//;
		$longest = $part if length $part > length $longest;
	}
	return length $longest < 4 ? '' : $longest;
}

my $strings = qr/((?:"(?:[^"\\]|\\.)*"\s*)+)/;

# Text of each message, or the constant part of it, and the file that it is in.
sub obstacles_of_module {
	my %reasons;
	for my $name (glob 'kmod/*.c kmod/*/*.c kmod/*/*/*.c arch/*/kmod/*.c') {
		my $code = slurp($name);
		$ways{'cryo_refuse()'}++, $reasons{constant_part(literal($1))} //= $name
			while $code =~ /cryo_refuse\(\s*c,\s*[^",]+,\s*$strings/g;
		# Functions that say what is in the way.
		while ($code =~ /^(?:static )?const char \*(?:classify\w*|\w+_obstacle)\(.*?^\}/gms) {
			my $body = $&;
			$ways{'*_obstacle()'}++, $reasons{literal($1)} //= $name while $body =~ /return $strings;/g;
		}
		$ways{'*obstacle'}++, $reasons{literal($1)} //= $name while $code =~ /\*obstacle = $strings;/g;
		$ways{'refuse_mount()'}++, $reasons{literal($1)} //= $name
			while $code =~ /\brefuse_mount\(k, m, $strings\)/g;
		if ($name =~ m{^kmod/(checkpoint|freeze|client|request)/}) {
			$ways{'cryo_log()'}++, $reasons{constant_part(literal($1))} //= $name
				while $code =~ /cryo_log\(&req->log,\s*$strings/g;
		}
	}
	delete $reasons{''};
	return %reasons;
}

# The same for cr_restart: what it finds before it makes anything.
sub obstacles_of_tools {
	my %reasons;
	for my $name (glob 'tools/restart/*/*.cc') {
		my $code = slurp($name);
		$reasons{constant_part(literal($1))} //= $name
			while $code =~ /\bproblem\(\s*[\w?: ]+,\s*$strings/g;
		$reasons{constant_part(literal($1))} //= $name
			while $code =~ /problems\.(?:push|emplace)_back\(\s*(?:fmt::format\()?\s*$strings/g;
		while ($code =~ /^(?:\[\[nodiscard\]\] )?std::string \w+_(?:problem|obstacle)\(.*?^\}/gms) {
			my $body = $&;
			$reasons{constant_part(literal($1))} //= $name
				while $body =~ /return\s+(?:fmt::format\()?\s*$strings/g;
		}
	}
	delete $reasons{''};
	return %reasons;
}

1;
